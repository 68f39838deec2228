package machine

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func workFor(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		Do(1000)
	}
}

func TestProcessUsage(t *testing.T) {
	before := ProcessUsage()
	workFor(30 * time.Millisecond)
	after := ProcessUsage()
	if d := after.Sub(before); d.CPU() <= 0 || d.Voluntary < 0 || d.Involuntary < 0 {
		t.Errorf("30 ms of work used %+v", d)
	}
}

// TestThreadUsage: a thread that waits is not charged for the work of another.
func TestThreadUsage(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := ThreadUsage()
	if !ok {
		if runtime.GOOS == "linux" {
			t.Error("Linux does not tell what a thread used")
		}
		t.Skipf("%s does not tell what a thread used", runtime.GOOS)
	}
	done := make(chan struct{})
	go func() { workFor(40 * time.Millisecond); close(done) }()
	<-done
	middle, _ := ThreadUsage()
	workFor(40 * time.Millisecond)
	after, _ := ThreadUsage()
	waited, worked := middle.Sub(before), after.Sub(middle)
	if worked.CPU() <= 0 || waited.CPU() >= worked.CPU() || waited.Voluntary < 1 {
		t.Errorf("a thread that waited for 40 ms was charged %+v, and for 40 ms of work %+v", waited, worked)
	}
}

func TestProcessCPU(t *testing.T) {
	begin, ok := ProcessCPU(os.Getpid())
	if !ok {
		if runtime.GOOS == "linux" {
			t.Error("Linux does not tell what a process used")
		}
		t.Skipf("%s does not tell what another process used", runtime.GOOS)
	}
	const least = 50 * time.Millisecond // of CPU time, so also on a busy machine
	parent, _ := ProcessCPU(os.Getppid())
	before := ProcessUsage().CPU()
	for ProcessUsage().CPU()-before < least {
		Do(1000)
	}
	end, _ := ProcessCPU(os.Getpid())
	if used := end - begin; used < least {
		t.Errorf("the clock of this process went on by %v, getrusage by %v", used, least)
	}
	if after, _ := ProcessCPU(os.Getppid()); after-parent >= least {
		t.Errorf("the clock of the parent, which waits, went on by %v", after-parent)
	}
	for _, pid := range []int{-1, 0, 1 << 30} {
		if _, ok := ProcessCPU(pid); ok {
			t.Errorf("there is a process %d", pid)
		}
	}
}

func TestRunDelays(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("no statistics of the scheduler: ", err)
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
