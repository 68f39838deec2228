package backend

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestSignal: signals reach the server that is meant, and no process when it is gone.
func TestSignal(t *testing.T) {
	s := mustStartRedisOf(t, lab(t), RedisOptions{Replicas: 1})
	for range 20 { // all threads have stopped on return
		if stopped(s.PID(1)) && runtime.GOOS == "linux" {
			t.Fatal("a server that runs counts as stopped")
		}
		requireNoError(t, s.Signal(1, syscall.SIGSTOP))
		if !stopped(s.PID(1)) {
			t.Fatal("a server that was stopped runs")
		}
		requireNoError(t, s.Signal(1, syscall.SIGCONT))
		wantReply(t, s, 1, "PONG", "PING")
	}
	requireNoError(t, s.Signal(1, syscall.SIGSTOP))
	wantReply(t, s, 0, "PONG", "PING")
	if reply, err := ask(s, 1, 100*time.Millisecond, "PING"); err == nil {
		t.Errorf("a server that is stopped answers %q", reply)
	}
	requireNoError(t, s.Signal(1, syscall.SIGCONT))
	wantReply(t, s, 1, "PONG", "PING")
	requireNoError(t, s.Signal(1, syscall.SIGKILL))
	if !gone(s.PID(1)) {
		t.Fatal("the server does not die")
	}
	for range 2 {
		if err := s.Kill(1); err != nil { // waits
			t.Error(err)
		}
	}
	for _, sig := range []os.Signal{syscall.SIGSTOP, os.Kill} {
		if err := s.Signal(1, sig); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%v for a server that is gone: %v, want ErrProcessDone", sig, err)
		}
	}
	requireNoError(t, s.Signal(0, syscall.SIGSTOP))
	begin := time.Now()
	if err := s.Kill(0); err != nil || alive(s.PID(0)) {
		t.Errorf("Kill of a server that is stopped = %v after %v", err, time.Since(begin))
	}
}
