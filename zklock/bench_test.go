package zklock_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"locklab/harness"
	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/zklock"
	"locklab/zklock/lab"
)

// TestMain runs more tests in parallel than there are processors: most of them wait.
func TestMain(m *testing.M) {
	locktest.Parallel(1 + max(2, runtime.GOMAXPROCS(0)))
	lockbench.Main(tests{m})
}

type tests struct{ *testing.M }

func (ts tests) Run() int {
	code := ts.M.Run()
	if err := stopCommon(); err != nil {
		fmt.Fprintln(os.Stderr, "the server of all tests:", err)
		return 1
	}
	return code
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }

// BenchmarkCohort measures 50 goroutines of one client by handovers; shared=mutex: a Mutex.
func BenchmarkCohort(b *testing.B) {
	at := locktest.Endpoint(b, harness.KindZooKeeper)
	c, err := zklock.Dial(b.Context(), at.Addrs[0], zklock.ClientOptions{})
	requireNoError(b, err)
	defer c.Close()
	b.Run("shared=mutex", func(b *testing.B) { benchmarkGoroutines(b, c, c.Mutex(newPath(), zklock.Options{})) })
	for _, n := range []int{-1, 1, 4, 16, 32, 64, 128, 255} {
		b.Run(fmt.Sprintf("handovers=%d", max(0, n)), func(b *testing.B) {
			benchmarkGoroutines(b, c, c.Cohort(newPath(), zklock.CohortOptions{Handovers: n}))
		})
	}
}

func benchmarkGoroutines(b *testing.B, c *zklock.Client, m zklock.Lockable) {
	before := counts(c)
	var begun atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 50 {
		wg.Go(func() {
			for begun.Add(1) <= int64(b.N) {
				l, err := m.Lock(b.Context())
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
}

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }
