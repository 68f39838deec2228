package spinlock_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/machine"
	"locklab/spinlock/lab"
)

// BenchmarkCohortOneNode compares cohort with ticket on one node, in neighbouring blocks, both
// through a sync.Locker, as the lab does. cohort/ticket is the median of the rounds' ratios,
// with the quartiles; it must not exceed 1.2.
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
	ns := func(v *harness.Variant) float64 { return nsThroughLocker(b, v, cpus, block) }
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
	b.ReportMetric(0, "ns/op") // the time of a round has no meaning
	b.ReportMetric(ratios[n/2], "cohort/ticket")
	b.ReportMetric(ratios[n/4], "cohort/ticket-p25")
	b.ReportMetric(ratios[3*n/4], "cohort/ticket-p75")
}

// contestBatch is the number of acquisitions between two checks for the end of a block.
const contestBatch = 64

type contestRun struct {
	_       atomics.CacheLinePad
	counter uint64 // guarded by the lock
	_       atomics.CacheLinePad
	phase   atomics.Uint32
	_       atomics.CacheLinePad
	workers []contestWorker
}

const (
	contestWait = iota
	contestGo
	contestStop
)

type contestWorker struct {
	batches  uint64
	from, to time.Time
	_        atomics.CacheLinePad
}

func (r *contestRun) more(i int) bool {
	if r.phase.Load() == contestStop {
		return false
	}
	r.workers[i].batches++
	return true
}

// nsThroughLocker runs a block on the given CPUs, and returns the ns of an operation.
func nsThroughLocker(b *testing.B, v *harness.Variant, cpus []int, span time.Duration) float64 {
	r := &contestRun{workers: make([]contestWorker, len(cpus))}
	l := v.Local(harness.Setup{Workers: len(cpus), Pin: harness.PinCPU})
	var ready, done sync.WaitGroup
	ready.Add(len(cpus))
	for i, cpu := range cpus {
		done.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			if err := machine.PinThread(cpu); err != nil {
				b.Error(err)
			}
			ready.Done()
			for r.phase.Load() == contestWait {
				runtime.Gosched()
			}
			r.workers[i].from = time.Now()
			for h := l.Worker(i); r.more(i); {
				for range contestBatch {
					h.Lock()
					r.counter++
					h.Unlock()
				}
			}
			r.workers[i].to = time.Now()
		})
	}
	ready.Wait()
	r.phase.Store(contestGo)
	time.Sleep(span)
	r.phase.Store(contestStop)
	done.Wait()
	var ops uint64
	from, to := r.workers[0].from, r.workers[0].to
	for _, w := range r.workers {
		ops += contestBatch * w.batches
		if w.from.Before(from) {
			from = w.from
		}
		if w.to.After(to) {
			to = w.to
		}
	}
	if ops != r.counter {
		b.Fatalf("%s: %d increments, counter %d", v.Name, ops, r.counter)
	}
	return float64(to.Sub(from)) / float64(ops)
}

func variant(tb testing.TB, name string) *harness.Variant {
	tb.Helper()
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == name })
	if i < 0 {
		tb.Fatalf("no lock %q", name)
	}
	return lab.Suite[i]
}
