package measure

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness"
)

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

// TestMeetGivesUpNoWait: waiters of a slow lock leave only if it is not granted, or at the end.
func TestMeetGivesUpNoWait(t *testing.T) {
	const workers = 8
	for name, c := range map[string]struct {
		patience, ends time.Duration
		free           bool
		gaveUp         int64
	}{
		"slow":  {20 * time.Second, time.Hour, true, 0},
		"stuck": {50 * time.Millisecond, time.Hour, false, workers},
		"ends":  {time.Minute, 20 * time.Millisecond, false, workers},
	} {
		t.Run(name, func(t *testing.T) {
			u := &usher{shelf: new(shelf), pause: 30 * time.Millisecond}
			u.variant(harness.Traits{})
			if !c.free {
				<-u.free
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.ends)
			defer cancel()
			l := &remoteLoop{sessions: slices.Repeat([]harness.Session{u}, workers)}
			l.meet(ctx, 10*time.Millisecond, c.patience, (&Job{Lock: good, Patience: c.patience}).watchdog())
			if n := u.gaveUp.Load(); n != c.gaveUp {
				t.Errorf("%d waits were given up, want %d", n, c.gaveUp)
			}
			if n := u.token.Load(); c.free && n < workers {
				t.Errorf("%d workers met, want %d", n, workers)
			}
		})
	}
}

func rationed(share float64) (served func(time.Duration) time.Duration, reads *atomic.Int64) {
	var sum time.Duration
	reads = new(atomic.Int64)
	return func(step time.Duration) time.Duration {
		reads.Add(1)
		sum += time.Duration(share * float64(step))
		return sum
	}, reads
}

// TestStuckOnBusyMachine: the patience counts only time in which workers could progress.
func TestStuckOnBusyMachine(t *testing.T) {
	const patience = 40 * time.Millisecond
	for _, share := range []float64{1, 0.25} {
		served, reads := rationed(share)
		job := Job{Lock: deaf, Workload: workload(2), Patience: patience, served: served}
		r, err := Measure(t.Context(), instruments(), job)
		if err != nil || len(r.Violations) != 1 || r.Violations[0].Rule != "liveness" {
			t.Fatalf("%v, %+v", err, r)
		}
		if n, least := float64(reads.Load()), 20/share; n < least || n > 3*least+3 {
			t.Errorf("with %v of a processor read %v times, want about %v: %s", share, n, least, r.Violations[0].Detail)
		}
	}
}
