package runner

import (
	"math"
	"sync"

	"locklab/harness"
	"locklab/harness/recorder"
)

// Overhead measures what the loop around a local lock costs, in some
// milliseconds: the loop that measures, driven by one worker with a lock that
// does nothing, bare, with the owner log in a burst, and with each turn timed.
// The three are taken in turns, and each figure is the median of its samples.
func (in *Instruments) Overhead() harness.Overhead {
	const samples = 31
	var bare, log, timing []float64
	kinds := []*bench{in.bench(bareTurn), in.bench(loggedTurn), in.bench(timedTurn)}
	for i := range samples + 1 {
		var ns [3]float64
		for j := range kinds {
			k := (i + j) % len(kinds) // whoever comes first pays for what was before
			ns[k] = kinds[k].sample(in)
		}
		if i == 0 {
			continue // touches memory for the first time
		}
		bare = append(bare, ns[0])
		log = append(log, ns[1]-ns[0])
		timing = append(timing, ns[2]-ns[1])
	}
	return harness.Overhead{Turn: median(bare), Log: max(0, median(log)), Timing: max(0, median(timing))}
}

// A turnKind is what a turn is burdened with, each with what the ones before
// are too.
type turnKind int

const (
	bareTurn turnKind = iota
	loggedTurn
	timedTurn
)

// A bench is a worker with nobody to contend with and a lock that does nothing.
type bench struct {
	kind turnKind
	w    *localWorker
	s    *section
	lock sync.Locker
}

func (in *Instruments) bench(kind turnKind) *bench {
	w := &localWorker{t: new(tally), clock: in.Clock, mask: math.MaxUint64}
	if kind == timedTurn {
		w.mask = 0
	}
	return &bench{kind: kind, w: w, s: &section{log: recorder.NewOwnerLog(0)}, lock: noLock{}}
}

// sample returns the time of one turn in ns, the mean of a burst of the owner
// log.
func (b *bench) sample(in *Instruments) float64 {
	b.s.base = b.s.n // so that the log keeps all turns
	start := in.Clock.Now()
	b.w.batch(b.s, b.lock, 1, recorder.Burst, b.kind != bareTurn)
	return float64(in.Clock.Nanoseconds(in.Clock.Now()-start)) / recorder.Burst
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}
