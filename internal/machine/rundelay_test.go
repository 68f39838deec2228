package machine

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestRunDelay: more threads than processors that compute wait for one.
func TestRunDelay(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("the system does not tell: ", err)
	}
	before := RunDelay(os.Getpid())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4 * runtime.NumCPU()))
	stop := make(chan struct{})
	defer close(stop)
	for range 4 * runtime.NumCPU() {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	for began := time.Now(); RunDelay(os.Getpid())-before < 20*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("threads waited for %v", RunDelay(os.Getpid())-before)
		}
	}
	if d := RunDelay(-1); d != 0 {
		t.Errorf("of no process: %v", d)
	}
}
