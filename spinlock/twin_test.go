package spinlock_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/internal/machine"
	"locklab/internal/twin"
	"locklab/spinlock"
)

// A contest is a lock beside the same algorithm in C. The loops are written out
// for each type: what is compared is the lock, called directly, without the
// dispatch that a generic function or an interface would add.
type contest struct {
	name  string
	rival string // case of twin.Locks
	ck    string // case of twin.ConcurrencyKit; "" for none
	begin func(workers int) func(r *contestRun, worker int)
}

// contestBatch is how many acquisitions pass between two checks for the end of
// a block, in C too.
const contestBatch = 64

// pinned is how the goroutines of a contest are bound.
var pinned = spinlock.Options{Pin: spinlock.PinCPU}

var contests = []contest{
	{"tas", "tas", "ck-cas", func(workers int) func(*contestRun, int) {
		l := &spinlock.TAS{Pin: spinlock.PinCPU}
		return func(r *contestRun, i int) {
			for r.more(i) {
				for range contestBatch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
	{"ttas", "ttas", "", func(workers int) func(*contestRun, int) {
		l := &spinlock.TTAS{Pin: spinlock.PinCPU}
		return func(r *contestRun, i int) {
			for r.more(i) {
				for range contestBatch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
	{"ticket", "ticket", "ck-ticket", func(workers int) func(*contestRun, int) {
		l := spinlock.NewTicket(workers, pinned)
		return func(r *contestRun, i int) {
			for r.more(i) {
				for range contestBatch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
	{"mcs", "mcs", "ck-mcs", func(workers int) func(*contestRun, int) {
		l := spinlock.NewMCS(workers, pinned)
		return func(r *contestRun, i int) {
			for h := l.Worker(i); r.more(i); {
				for range contestBatch {
					h.Lock()
					r.counter++
					h.Unlock()
				}
			}
		}
	}},
	{"clh", "clh", "ck-clh", func(workers int) func(*contestRun, int) {
		l := spinlock.NewCLH(workers, pinned)
		return func(r *contestRun, i int) {
			for h := l.Worker(i); r.more(i); {
				for range contestBatch {
					h.Lock()
					r.counter++
					h.Unlock()
				}
			}
		}
	}},
	{"sync-mutex", "pthread-mutex", "", func(int) func(*contestRun, int) {
		l := new(sync.Mutex)
		return func(r *contestRun, i int) {
			for r.more(i) {
				for range contestBatch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
}

// A contestRun is one block in Go.
type contestRun struct {
	_       atomics.CacheLinePad
	counter uint64 // guarded by the lock
	_       atomics.CacheLinePad
	phase   atomics.Uint32 // of the block: contestWait, contestGo, contestStop
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

// more reports whether worker i goes on, and counts its batch.
func (r *contestRun) more(i int) bool {
	if r.phase.Load() == contestStop {
		return false
	}
	r.workers[i].batches++
	return true
}

// nsPerOp runs a block on the given CPUs and returns the time of an operation,
// as twin.Reading.NsPerOp does.
func (c contest) nsPerOp(b *testing.B, cpus []int, span time.Duration) float64 {
	r := &contestRun{workers: make([]contestWorker, len(cpus))}
	drive := c.begin(len(cpus))
	var ready, done sync.WaitGroup
	ready.Add(len(cpus))
	for i, cpu := range cpus {
		done.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			if err := machine.PinThread(cpu); err != nil {
				b.Error(err)
			}
			ready.Done()
			for r.phase.Load() == contestWait {
				runtime.Gosched()
			}
			r.workers[i].from = time.Now()
			drive(r, i)
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
		b.Fatalf("%s: %d increments, counter %d", c.name, ops, r.counter)
	}
	return float64(to.Sub(from)) / float64(ops)
}

// BenchmarkTwin sets each lock beside the same algorithm in C and, alone,
// beside that of Concurrency Kit, in neighbouring blocks: Go, C, C, Go. go/c is
// the median of the rounds' ratios, with the quartiles; the times hold for this
// run only. Two workers are on two CPUs, whose distance changes on a virtual
// machine: read their ratio with its spread.
func BenchmarkTwin(b *testing.B) {
	cpus := machine.CPUOrder()
	for _, c := range contests {
		for workers := 1; workers <= min(2, len(cpus)); workers++ {
			b.Run(fmt.Sprintf("lock=%s/workers=%d", c.name, workers), func(b *testing.B) {
				compete(b, c, twin.Locks, c.rival, cpus[:workers])
			})
		}
		if c.ck != "" {
			b.Run(fmt.Sprintf("lock=%s/against=%s", c.name, c.ck), func(b *testing.B) {
				compete(b, c, twin.ConcurrencyKit, c.ck, cpus[:1])
			})
		}
	}
}

func compete(b *testing.B, c contest, p *twin.Program, rival string, cpus []int) {
	const (
		block = 5 * time.Millisecond
		least = 21 // rounds
	)
	tw, err := twin.Start(b.Context(), p, twin.Options{})
	if errors.Is(err, twin.ErrNoCompiler) || errors.Is(err, twin.ErrNoHeader) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer tw.Close()
	inC := func() float64 {
		r, err := tw.Run(b.Context(), rival, cpus, block)
		if err != nil {
			b.Fatal(err)
		}
		return r.NsPerOp()
	}
	// The runtime needs a place for the thread that ends the block.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(cpus) + 1))
	var ratios, ns []float64
	round := func() {
		g1, c1, c2, g2 := c.nsPerOp(b, cpus, block), inC(), inC(), c.nsPerOp(b, cpus, block)
		ratios, ns = append(ratios, (g1+g2)/(c1+c2)), append(ns, (g1+g2)/2)
	}
	for b.Loop() {
		round()
	}
	for len(ratios) < least {
		round()
	}
	slices.Sort(ratios)
	slices.Sort(ns)
	n := len(ratios)
	b.ReportMetric(0, "ns/op") // the time of a round says nothing
	b.ReportMetric(ratios[n/2], "go/c")
	b.ReportMetric(ratios[n/4], "go/c-p25")
	b.ReportMetric(ratios[3*n/4], "go/c-p75")
	b.ReportMetric(ns[n/2], "go-ns")
}
