package machine

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunDelays(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("the system does not tell: ", err)
	}
	before := RunDelays(os.Getpid())
	if len(before) < 2 {
		t.Fatalf("threads: %v", before)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4 * runtime.NumCPU()))
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 * runtime.NumCPU() {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	for began, late := time.Now(), 0; late < 2; time.Sleep(10 * time.Millisecond) {
		late = 0
		for thread, d := range RunDelays(os.Getpid()) {
			if d-before[thread] > 20*time.Millisecond {
				late++
			}
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d threads waited", late)
		}
	}
	if d := RunDelays(-1); len(d) != 0 {
		t.Errorf("of no process: %v", d)
	}
}
