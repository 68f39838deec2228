package hardware

import (
	"context"
	"fmt"
	"time"

	"locklab/atomics"
	"locklab/harness/result"
	"locklab/internal/machine"
)

var cost = &Experiment{
	Name:     "cost",
	Question: "What does an operation on a shared word cost, alone and with more and more CPUs on one line?",
	Method: "Each operation runs in a loop, on one CPU and then on two, four and so on up to all of them at one word; batches are timed, " +
		"so a figure is a mean with the loop in it, and loads that overlap take less than one takes. What counts is the ratio within one run. " +
		"Then an uncontended lock is taken and freed in several ways, in short blocks in turn.",
	Source:    "David, Guerraoui and Trigonakis, Everything You Always Wanted to Know About Synchronization, SOSP 2013",
	Available: needTwoCPUs,
	run:       runCost,
}

// An operation runs n times on the word of w, which holds 0 unless the operation is an
// add. A hit writes the 0 that is already there, so it hits under contention too.
type operation struct {
	name    string
	private bool // plain Go, for one CPU only: on several it would be a data race
	run     func(w *costWords, n int)
}

type costWords struct {
	_     atomics.CacheLinePad
	word  atomics.Uint64
	_     atomics.CacheLinePad
	plain uint64
	read  uint64 // keeps the loaded values of plain
	_     atomics.CacheLinePad
}

// Each loop is a function of its own so that the operation is inlined into it. The compiler
// moves no memory access out of a loop.
var operations = []operation{
	{"plain load", true, func(w *costWords, n int) {
		var read uint64
		for range n {
			read |= w.plain
		}
		w.read = read
	}},
	{"plain store", true, func(w *costWords, n int) {
		for range n {
			w.plain = 0
		}
	}},
	{"load", false, func(w *costWords, n int) {
		for range n {
			w.word.Load()
		}
	}},
	{"store-release", false, func(w *costWords, n int) {
		for range n {
			w.word.StoreRelease(0)
		}
	}},
	{"store", false, func(w *costWords, n int) {
		for range n {
			w.word.Store(0)
		}
	}},
	{"add", false, func(w *costWords, n int) {
		for range n {
			w.word.Add(1)
		}
	}},
	{"CAS that hits", false, func(w *costWords, n int) {
		for range n {
			w.word.CompareAndSwap(0, 0)
		}
	}},
	{"CAS that misses", false, func(w *costWords, n int) {
		for range n {
			w.word.CompareAndSwap(1, 1)
		}
	}},
	{"swap", false, func(w *costWords, n int) {
		for range n {
			w.word.Swap(0)
		}
	}},
}

func counts(n int) []int {
	const most = 64
	var steps []int
	for k := 1; k < n && k <= most; k *= 2 {
		steps = append(steps, k)
	}
	return append(steps, n)
}

type costCell struct {
	op     operation
	cpus   []int
	counts []int       // numbers of CPUs; only 1 if the operation is private
	ns     [][]float64 // for each count, a figure for each repeat
}

func newCostCell(op operation, cpus, counts []int) *costCell {
	if op.private {
		counts = counts[:1]
	}
	return &costCell{op: op, cpus: cpus, counts: counts, ns: make([][]float64, len(counts))}
}

func (c *costCell) measure(ctx context.Context, span time.Duration) error {
	for i, count := range c.counts {
		words := new(costWords)
		ns, err := timed(ctx, c.cpus[:count], span, func(_, n int) { c.op.run(words, n) })
		if err != nil {
			return err
		}
		c.ns[i] = append(c.ns[i], ns)
	}
	return nil
}

func allCPUs() []int {
	cpus := machine.CPUOrder()
	if places := placements(); places[0].cpus[0] == unbound {
		for i := range cpus {
			cpus[i] = unbound
		}
	}
	return cpus
}

func runCost(ctx context.Context, o Options) (*result.Finding, error) {
	cpus := allCPUs()
	fast := newFastPathCell(fastPaths(), cpus[0])
	var costs []*costCell
	spans := len(fast.paths)
	for _, op := range operations {
		c := newCostCell(op, cpus, counts(len(cpus)))
		costs = append(costs, c)
		spans += len(c.counts)
	}
	done, err := measureCells(ctx, o, spans, append(cellsOf(costs), fast))
	if done == 0 {
		return nil, err
	}
	return &result.Finding{
		Answer: costAnswer(costs) + " " + fast.answer(),
		Tables: []result.Table{countTable(costs), costTable(costs, len(cpus)), fast.table()},
		Notes:  append(ranOn(), fmt.Sprintf("compare-and-swap is %s; all CPUs are the CPUs %v", atomics.CASName(), cpus)),
	}, err
}
