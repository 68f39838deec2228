//go:build unix

package measure

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	redislab "locklab/redislock/lab"
)

// TestStall stops a server for a second: in an open loop all its arrivals have long waits, in
// a closed one each worker has one.
func TestStall(t *testing.T) {
	server := startAlone(t)
	const rate, long, stop = 400, 500 * time.Millisecond, time.Second
	base := harness.Workload{Workers: 4, Window: 1600 * time.Millisecond}
	open := base
	open.Workers, open.Clients, open.Rate = 64, 4, rate
	k := slices.IndexFunc(redislab.Suite, func(v *harness.Variant) bool { return v.Name == "redis-token" }) // it has no lease, which the stop could end
	v := *redislab.Suite[k]
	var asked atomic.Int64
	counting := v
	counting.Remote = func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r, err := v.Remote(ctx, at, key)
		return &counted{r, &asked}, err
	}
	results := make([]*harness.Result, 2)
	var all sync.WaitGroup
	for i, w := range []harness.Workload{base, open} {
		lock := &v
		if w.Rate > 0 {
			lock = &counting
		}
		rig := openRig(t, Job{Lock: lock, At: server.Endpoint(), Key: t.Name() + w.Name(), Workload: w, Seed: 5})
		all.Go(func() {
			var err error
			if results[i], err = rig.Drive(context.Background(), Limit{Window: w.Window}); err != nil {
				t.Error(err)
			}
		})
	}
	// The workers have met, and the loop has run for a tenth of a second; it runs for a
	// fifth of the window before the window.
	for asked.Load() < int64(2*open.Workers+rate/10) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(400 * time.Millisecond)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := server.Signal(0, s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			time.Sleep(stop)
		}
	}
	all.Wait()
	if t.Failed() {
		return
	}
	longer := func(r *harness.Result) (n int64) {
		for _, b := range r.Wait {
			if b.Value > int64(long) {
				n += b.N
			}
		}
		return n
	}
	closed, opened := results[0], results[1]
	for _, r := range results {
		if len(r.Violations) > 0 {
			t.Errorf("violations %v", r.Violations)
		}
		t.Logf("%s: %d acquisitions, %d waits of more than %v, p50 %v, p99 %v", r.Workload.Name(), r.Ops, longer(r), long,
			time.Duration(r.Wait.Quantile(0.5)), time.Duration(r.Wait.Quantile(0.99)))
	}
	// Arrivals of the first half second of the stop wait for the rest of it. Five
	// deviations less.
	if n := longer(opened); n < rate/2-5*14 {
		t.Errorf("the open loop shows %d waits of more than %v, want about %d", n, long, rate/2)
	}
	if n := longer(closed); n > int64(base.Workers) {
		t.Errorf("the closed loop of %d workers shows %d waits of more than %v", base.Workers, n, long)
	}
}

// A counted remote counts the requests for a lock.
type counted struct {
	harness.Remote
	asked *atomic.Int64
}

func (c *counted) Join(ctx context.Context, id int) (harness.Session, error) {
	s, err := c.Remote.Join(ctx, id)
	return &countedSession{s, c.asked}, err
}

type countedSession struct {
	harness.Session
	asked *atomic.Int64
}

func (s *countedSession) Lock(ctx context.Context) (harness.Lease, error) {
	s.asked.Add(1)
	return s.Session.Lock(ctx)
}
