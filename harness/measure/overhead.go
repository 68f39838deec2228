package measure

import (
	"math"
	"slices"
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// Overhead measures the cost of the loop around a lock that does nothing, in some
// milliseconds: bare, with the owner log, and with each acquisition timed; and a real lock
// called directly and through sync.Locker. Samples alternate, and each figure is a median.
func (in *Instruments) Overhead() result.Overhead {
	const samples = 31
	var bare, log, timing, direct, locker []float64
	kinds := []*bench{in.bench(bareLoop), in.bench(loggedLoop), in.bench(timedLoop), in.bench(directCalls), in.bench(lockerCalls)}
	ns := make([]float64, len(kinds))
	for i := range samples + 1 {
		for j := range kinds {
			k := (i + j) % len(kinds) // rotates, since the first pays for earlier work
			ns[k] = kinds[k].sample(in)
		}
		if i == 0 {
			continue // touches memory for the first time
		}
		bare = append(bare, ns[bareLoop])
		log = append(log, ns[loggedLoop]-ns[bareLoop])
		timing = append(timing, ns[timedLoop]-ns[loggedLoop])
		direct = append(direct, ns[directCalls])
		locker = append(locker, ns[lockerCalls])
	}
	return result.Overhead{Loop: stat.Median(bare), Log: max(0, stat.Median(log)), Timing: max(0, stat.Median(timing)),
		Direct: stat.Median(direct), Locker: stat.Median(locker)}
}

// A benchKind is the subject of a measurement. The first three are iterations of the loop,
// each including the costs of the previous ones; the others are acquisitions without the loop.
type benchKind int

const (
	bareLoop benchKind = iota
	loggedLoop
	timedLoop
	directCalls
	lockerCalls
)

type bench struct {
	kind benchKind
	w    *localWorker
	s    *section
	lock sync.Locker
	word wordLock
}

func (in *Instruments) bench(kind benchKind) *bench {
	w := &localWorker{c: newControl(Limit{Ops: 1}, 1), t: new(tally), clock: in.Clock, sampler: samplerOf(1, 0), next: math.MaxUint64}
	s := &section{log: result.NewOwnerLog(0, 0), next: math.MaxUint64}
	if kind == timedLoop {
		w.next, s.next = 0, 1
	}
	return &bench{kind: kind, w: w, s: s, lock: noLock{}}
}

func (b *bench) sample(in *Instruments) float64 {
	b.s.base = b.s.n // so that the log keeps all acquisitions
	start := in.Clock.Now()
	switch b.kind {
	case directCalls:
		callDirectly(&b.word, result.BurstHolds)
	case lockerCalls:
		callLocker(&b.word, result.BurstHolds)
	default:
		b.w.batch(b.s, b.lock, result.BurstHolds, b.kind != bareLoop)
	}
	return float64(in.Clock.Nanoseconds(in.Clock.Now()-start)) / result.BurstHolds
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

type wordLock struct {
	_    atomics.CacheLinePad
	held atomics.Uint32
	_    atomics.CacheLinePad
}

// Lock is small enough to be inlined, like the lab's spin locks.
func (l *wordLock) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

func (l *wordLock) wait() {
	for !l.held.CompareAndSwap(0, 1) {
		atomics.SpinHint(1)
	}
}

func (l *wordLock) Unlock() { l.held.StoreRelease(0) }

// callDirectly acquires and releases a lock whose type the compiler can see.
//
//go:noinline
func callDirectly(l *wordLock, n int) {
	for range n {
		l.Lock()
		//lint:ignore SA2001 the acquisition is what is measured
		l.Unlock()
	}
}

// callLocker acquires and releases a lock whose type the compiler cannot see, since it is
// not inlined.
//
//go:noinline
func callLocker(l sync.Locker, n int) {
	for range n {
		l.Lock()
		//lint:ignore SA2001 the acquisition is what is measured
		l.Unlock()
	}
}

// SectionCosts returns the time of one change of each section's data, in ns: by one worker
// without a lock, the median of bursts. It returns nil without data.
func (in *Instruments) SectionCosts(cases []Case) map[harness.Section]float64 {
	costs := make(map[harness.Section]float64)
	for _, c := range cases {
		s := c.Workload.Section
		if _, known := costs[s]; !known && s != harness.SectionWork {
			costs[s] = in.sectionCost(newStructure(s))
		}
	}
	if len(costs) == 0 {
		return nil
	}
	return costs
}

func (in *Instruments) sectionCost(data structure) float64 {
	const samples, warmup = 31, 4
	rng := machine.NewRandom(1)
	var bursts []float64
	for range samples {
		start := in.Clock.Now()
		for range result.BurstHolds {
			at, value := data.find(rng)
			data.write(0, at, value)
		}
		bursts = append(bursts, float64(in.Clock.Nanoseconds(in.Clock.Now()-start))/result.BurstHolds)
	}
	return stat.Median(slices.Delete(bursts, 0, warmup))
}
