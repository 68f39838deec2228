package zklock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
	"locklab/zklock"
)

// TestSuspend: after a suspend longer than the session the lease is over at once.
func TestSuspend(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{{"session", suspendPastSession}, {"max hold", suspendPastMaxHold}})
}

// A sleeper is a machine that was suspended: Go's clock and timers stand still.
type sleeper struct {
	*zklock.Client
	slept atomic.Int64
}

func (s *sleeper) suspend(d time.Duration) { s.slept.Add(int64(d)) }

func newSleeper(t *testing.T, at harness.Endpoint, timeout time.Duration) *sleeper {
	t.Helper()
	s := new(sleeper)
	s.Client = dial(t, at, zklock.WithSuspends(zklock.ClientOptions{SessionTimeout: timeout}, func() time.Duration { return time.Duration(s.slept.Load()) }))
	return s
}

func suspendPastSession(t *testing.T, at harness.Endpoint) {
	const timeout = 40 * time.Second
	p := newProxy(t, at)
	s := newSleeper(t, p.at, timeout)
	held := make(map[string]*zklock.Lease)
	for _, k := range kinds {
		held[k.name] = acquire(t, k.lock(s.Client, newPath()).Lock)
	}
	p.Refuse(true) // nothing proves that the session is alive
	p.cut()
	for kind, l := range held {
		until, _ := l.Deadline()
		if l.Err() != nil || time.Until(until) <= 0 || time.Until(until) > timeout || !strings.Contains(until.String(), " m=") {
			t.Errorf("%s: before, its Deadline is in %v, %v, want a monotonic one: %v", kind, time.Until(until), until, l.Err())
		}
	}
	s.suspend(timeout)
	for kind, l := range held {
		if err := l.Err(); !errors.Is(err, zklock.ErrLost) {
			t.Errorf("%s: Err = %v, want ErrLost", kind, err)
		}
		expectLost(t, l)
	}
	p.Refuse(false)
	l := acquire(t, s.Mutex(newPath(), zklock.Options{}).Lock)
	if until, _ := l.Deadline(); l.Err() != nil || time.Until(until) <= 0 {
		t.Errorf("a lease after the suspend ends in %v: %v", time.Until(until), l.Err())
	}
	unlock(t, l)
}

func suspendPastMaxHold(t *testing.T, at harness.Endpoint) {
	const most = 4 * time.Second
	other := dial(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		s, path := newSleeper(t, at, 40*time.Second), newPath()
		l := acquire(t, k.open(s.Client, path, 1, zklock.Options{MaxHold: most}).Lock)
		s.suspend(most)
		if err := l.Err(); !errors.Is(err, zklock.ErrLost) || !strings.Contains(err.Error(), "MaxHold") {
			t.Errorf("%s: Err = %v, want one about MaxHold", k.name, err)
		}
		unlock(t, acquire(t, k.rival(other, path).Lock))
	}
}
