package zklock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/zklock"
)

type share struct {
	acquisitions int
	worst        time.Duration // the longest wait of any of them
}

// shares lets clients with that many goroutines each compete for one lock during window.
func shares(tb testing.TB, at harness.Endpoint, o zklock.CohortOptions, workers []int, window time.Duration) []share {
	tb.Helper()
	path := newPath()
	out := make([]share, len(workers))
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	var start, end time.Time // set before and after the workers run
	begin := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, n := range workers {
		c, err := zklock.Dial(ctx, at.Addrs[0], zklock.ClientOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		defer c.Close()
		k := c.Cohort(path, o)
		for range n {
			wg.Go(func() {
				<-begin
				mine := share{}
				for time.Now().Before(end) {
					asked := time.Now()
					l, err := k.Lock(ctx)
					if err != nil {
						tb.Error(err)
						return
					}
					if got := time.Now(); got.Before(end) {
						mine.acquisitions++
						mine.worst = max(mine.worst, got.Sub(asked))
					}
					if err := l.Unlock(ctx); err != nil {
						tb.Error(err)
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				out[i].acquisitions += mine.acquisitions
				out[i].worst = max(out[i].worst, mine.worst)
			})
		}
	}
	start = time.Now()
	end = start.Add(window)
	close(begin)
	wg.Wait()
	return out
}

var orders = []struct {
	name string
	o    zklock.CohortOptions
}{
	{"distributed-first", zklock.CohortOptions{Handovers: -1}},
	{"local-first", zklock.CohortOptions{Handovers: -1, LocalFirst: true}},
	{"cohort=4", zklock.CohortOptions{Handovers: 4}},
	{"cohort=16", zklock.CohortOptions{}},
	{"cohort=64", zklock.CohortOptions{Handovers: 64}},
}

// TestShares: a busy client does not starve a single goroutine, in both orders of release.
func TestShares(t *testing.T) {
	at := endpoint(t)
	for _, order := range orders {
		t.Run(order.name, func(t *testing.T) {
			leaktest.Own(t)
			got := shares(t, at, order.o, []int{20, 1}, 400*time.Millisecond)
			t.Logf("20 goroutines: %d acquisitions, 1 goroutine: %d acquisitions, longest waits %v and %v",
				got[0].acquisitions, got[1].acquisitions, got[0].worst, got[1].worst)
			// The single goroutine has the lock once after each tenure of the others, minus the
			// tenures that it misses while its next ticket is on the way.
			tenure := 1 + max(0, order.o.Handovers)
			if order.o.Handovers == 0 {
				tenure += zklock.DefaultHandovers
			}
			if got[1].acquisitions*tenure*3 < got[0].acquisitions {
				t.Errorf("the lone goroutine had %d acquisitions beside %d: it starves", got[1].acquisitions, got[0].acquisitions)
			}
		})
	}
}

// BenchmarkCohort measures 50 goroutines of one client by handovers; shared=mutex: a Mutex.
func BenchmarkCohort(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindZooKeeper)
	run := func(name string, lock func(c *zklock.Client) func(context.Context) (*zklock.Lease, error)) {
		b.Run(name, func(b *testing.B) {
			c, err := zklock.Dial(b.Context(), at.Addrs[0], zklock.ClientOptions{})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			take := lock(c)
			before := counts(c)
			var wg sync.WaitGroup
			acquisitions := make(chan struct{}, b.N)
			for range b.N {
				acquisitions <- struct{}{}
			}
			close(acquisitions)
			b.ResetTimer()
			for range 50 {
				wg.Go(func() {
					for range acquisitions {
						l, err := take(b.Context())
						if err == nil {
							err = l.Unlock(b.Context())
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acq/s")
			b.ReportMetric(float64(counts(c).Sub(before).Requests)/float64(b.N), "reqs/op")
		})
	}
	run("shared=mutex", func(c *zklock.Client) func(context.Context) (*zklock.Lease, error) {
		return c.Mutex(newPath(), zklock.Options{}).Lock
	})
	for _, n := range []int{-1, 1, 4, 16, 32, 64, 128, 255} {
		run(fmt.Sprintf("handovers=%d", max(0, n)), func(c *zklock.Client) func(context.Context) (*zklock.Lease, error) {
			return c.Cohort(newPath(), zklock.CohortOptions{Handovers: n}).Lock
		})
	}
}
