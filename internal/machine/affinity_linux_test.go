package machine

import (
	"runtime"
	"slices"
	"testing"
)

func TestPinThread(t *testing.T) {
	all := CPUOrder()
	done := make(chan struct{})
	go func() { // the thread ends with this goroutine
		defer close(done)
		runtime.LockOSThread()
		for _, cpu := range all {
			if err := PinThread(cpu); err != nil {
				t.Error(err)
				continue
			}
			if got := threadAffinity(0); !slices.Equal(got, []int{cpu}) {
				t.Errorf("pinned to %d, may run on %v", cpu, got)
			}
			if got := CPUOrder(); !slices.Equal(got, all) {
				t.Errorf("a pinned thread sees %v of %v", got, all)
			}
		}
		for _, cpu := range []int{-1, 1 << 20} {
			if err := PinThread(cpu); err == nil {
				t.Errorf("pinned to processor %d, which is not there", cpu)
			}
		}
	}()
	<-done
}
