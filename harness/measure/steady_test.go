package measure

import (
	"context"
	"testing"
	"time"

	"locklab/harness"
)

// A newcomer is a session on a shelf that sends many more requests for its first Lock.
type newcomer struct {
	*shelf
	seen bool
}

func (g *newcomer) Lock(ctx context.Context) (harness.Lease, error) {
	const firstCost = 1000
	l, err := g.shelf.Lock(ctx)
	if err == nil && !g.seen {
		g.seen = true
		g.requests.Add(firstCost)
	}
	return l, err
}

// TestSteady: a remote window begins when each worker has had the lock, late by half at most.
func TestSteady(t *testing.T) {
	s := new(shelf)
	s.session = func() harness.Session { return &newcomer{shelf: s} }
	v := s.variant(harness.Traits{})
	// The workers of a drive come one after the other: the last has the lock after 40 ms.
	w := harness.Workload{Workers: 40, Clients: 1, Hold: harness.Span{Mean: time.Millisecond}, Window: time.Second}
	rig := openRig(t, Job{Lock: v, Workload: w, Patience: 2 * time.Second})
	res, err := rig.Drive(t.Context(), Limit{Window: 200 * time.Millisecond, Steady: 5 * time.Second})
	if err != nil || len(res.Violations) > 0 || res.Ops == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if most := 2*res.Ops + uint64(2*w.Workers); res.Wire.Requests > most {
		t.Errorf("%d requests for %d acquisitions, want two each: at most %d", res.Wire.Requests, res.Ops, most)
	}
	for _, c := range []struct {
		name string
		job  Job
		want time.Duration
	}{
		{"remote", Job{Lock: v, Workload: w}, w.Window / 2},
		{"open loop", Job{Lock: v, Workload: harness.Workload{Window: time.Second, Rate: 1}}, 0},
		{"local", Job{Lock: new(harness.Variant), Workload: w}, 0},
	} {
		if got := c.job.steady(); got != c.want {
			t.Errorf("%s: waits for %v at most, want %v", c.name, got, c.want)
		}
	}
	d := &drive{control: newControl(Limit{Window: time.Second, Steady: 20 * time.Millisecond}, 1), tallies: []*tally{new(tally)}}
	begin := time.Now()
	if d.steady(t.Context()); time.Since(begin) < d.limit.Steady {
		t.Errorf("the wait for a worker that has not had the lock was over after %v, want %v", time.Since(begin), d.limit.Steady)
	}
}
