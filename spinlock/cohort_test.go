package spinlock_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/spinlock/lab"
)

// BenchmarkCohortOneNode sets cohort beside ticket where all workers are on one
// node, in neighbouring blocks: ticket, cohort, cohort, ticket. Both are called
// as the lab calls them, by a sync.Locker. cohort/ticket is the median of the
// rounds' ratios, with the quartiles; it must not be more than 1.2.
//
//	go test -run '^$' -bench CohortOneNode ./spinlock
func BenchmarkCohortOneNode(b *testing.B) {
	cpus := machine.CPUOrder()
	for workers := 1; workers <= min(2, len(cpus)); workers++ {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { compareCohort(b, cpus[:workers]) })
	}
}

func compareCohort(b *testing.B, cpus []int) {
	const (
		block = 5 * time.Millisecond
		least = 41 // rounds
	)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(cpus) + 1))
	ticket, cohort := variant(b, "ticket"), variant(b, "cohort")
	ns := func(v *harness.Variant) float64 { return throughLocker(v).nsPerOp(b, cpus, block) }
	var ratios []float64
	round := func() {
		t1, c1, c2, t2 := ns(ticket), ns(cohort), ns(cohort), ns(ticket)
		ratios = append(ratios, (c1+c2)/(t1+t2))
	}
	for b.Loop() {
		round()
	}
	for len(ratios) < least {
		round()
	}
	slices.Sort(ratios)
	n := len(ratios)
	b.ReportMetric(0, "ns/op") // the time of a round says nothing
	b.ReportMetric(ratios[n/2], "cohort/ticket")
	b.ReportMetric(ratios[n/4], "cohort/ticket-p25")
	b.ReportMetric(ratios[3*n/4], "cohort/ticket-p75")
}

// throughLocker is a contest of a variant as the lab calls it.
func throughLocker(v *harness.Variant) contest {
	return contest{name: v.Name, begin: func(workers int) func(*contestRun, int) {
		l := v.Local(harness.Setup{Workers: workers, Pin: harness.PinCPU})
		return func(r *contestRun, i int) {
			for h := l.Worker(i); r.more(i); {
				for range contestBatch {
					h.Lock()
					r.counter++
					h.Unlock()
				}
			}
		}
	}}
}

// variant returns a lock of the Suite.
func variant(tb testing.TB, name string) *harness.Variant {
	tb.Helper()
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		tb.Fatalf("no lock %q", name)
	}
	return lab.Suite[i]
}
