package backend

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness"
)

// The parent-death signal follows the thread that forks: servers must outlive its end.
func TestServerOutlivesThread(t *testing.T) {
	need(t, harness.KindRedis)
	sys := lab(t)
	var s *Server
	tids := make(chan int)
	for tid := os.Getpid(); tid == os.Getpid(); { // the first thread never ends: take another
		var err error
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			if s == nil && unix.Gettid() != os.Getpid() {
				s, err = start(context.Background(), sys, harness.KindRedis)
			}
			tids <- unix.Gettid()
		}()
		tid = <-tids
		requireNoError(t, err)
		if s != nil {
			waitThreadEnd(t, tid)
		}
	}
	defer s.Stop()
	expectNoError(t, answers(harness.KindRedis, s.Endpoint().Addrs[0][0]))
}

func waitThreadEnd(t *testing.T, tid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the thread does not end")
		}
	}
}
