package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
)

// An usher is a lock that takes its time and counts waits that are given up.
type usher struct {
	*shelf
	pause  time.Duration
	gaveUp atomic.Int64
}

func (u *usher) Lock(ctx context.Context) (harness.Lease, error) {
	lease, err := u.shelf.Lock(ctx)
	if err != nil {
		u.gaveUp.Add(1)
		return nil, err
	}
	time.Sleep(u.pause)
	return lease, nil
}

// TestMeetGivesUpNoWait: however slow the lock is, none of its waiters is told to leave while
// it is granted; where it is not, all are.
func TestMeetGivesUpNoWait(t *testing.T) {
	const workers = 8
	for name, c := range map[string]struct {
		patience time.Duration
		free     bool
		gaveUp   int64
	}{
		"slow":  {20 * time.Second, true, 0},
		"stuck": {50 * time.Millisecond, false, workers},
	} {
		t.Run(name, func(t *testing.T) {
			u := &usher{shelf: new(shelf), pause: 30 * time.Millisecond}
			u.variant(harness.Traits{})
			if !c.free {
				<-u.free
			}
			l := openRemoteLoop{&remoteLoop{}}
			for range workers {
				l.sessions = append(l.sessions, u)
			}
			l.meet(t.Context(), 10*time.Millisecond, c.patience)
			if n := u.gaveUp.Load(); n != c.gaveUp {
				t.Errorf("%d waits were given up, want %d", n, c.gaveUp)
			}
			if n := u.token.Load(); c.free && n < workers {
				t.Errorf("%d workers met, want %d", n, workers)
			}
		})
	}
}

// TestMeetEnds with its context.
func TestMeetEnds(t *testing.T) {
	u := &usher{shelf: new(shelf)}
	u.variant(harness.Traits{})
	<-u.free
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	l := openRemoteLoop{&remoteLoop{sessions: []harness.Session{u}}}
	if l.meet(ctx, time.Second, time.Minute); !errors.Is(ctx.Err(), context.DeadlineExceeded) || u.gaveUp.Load() != 1 {
		t.Errorf("%v, %d waits given up", ctx.Err(), u.gaveUp.Load())
	}
}

// TestStuckOnBusyMachine: where processors are short workers are waited for four times as long,
// and not for ever.
func TestStuckOnBusyMachine(t *testing.T) {
	const patience = 40 * time.Millisecond
	for starved, want := range map[bool]int{false: 1, true: 4} {
		asked := 0
		job := Job{Lock: deaf, Workload: workload(2), Patience: patience, starved: func() bool { asked++; return starved }}
		r, err := Measure(t.Context(), instruments(), job)
		if err != nil || len(r.Violations) != 1 || r.Violations[0].Rule != "liveness" {
			t.Fatalf("%v, %+v", err, r)
		}
		if asked != want {
			t.Errorf("starved %t: asked %d times, want %d: %s", starved, asked, want, r.Violations[0].Detail)
		}
	}
}
