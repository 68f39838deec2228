package child

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOutlivesThread: the parent-death signal follows the thread that forks, and a child must
// outlive the end of the thread that calls Start.
func TestOutlivesThread(t *testing.T) {
	var c *Process
	var err error
	tids := make(chan int)
	tid := 0
	for c == nil {
		go func() {
			runtime.LockOSThread()            // never unlocked: the thread ends with the goroutine
			if unix.Gettid() != os.Getpid() { // the first thread never ends: take another
				c, err = Start(exec.Command("sleep", "600"))
			}
			tids <- unix.Gettid()
		}()
		if tid = <-tids; err != nil {
			t.Fatal(err)
		}
	}
	defer c.Kill()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the thread does not end")
		}
	}
	select {
	case <-c.Done():
		t.Error("the child ended with the thread")
	case <-time.After(100 * time.Millisecond):
	}
}
