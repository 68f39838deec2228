package hardware

import (
	"context"
	"fmt"
	"time"

	"locklab/atomics"
	"locklab/harness"
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
	Run:       runCost,
}

// An operation runs n times on the word of w, which holds 0 unless the operation is an
// add. A hit writes the 0 that is already there, so it hits under contention too.
type operation struct {
	name    string
	private bool // plain Go, for one CPU only: on several it would be a data race
	run     func(w *costWords, n int)
}

// costWords are two words, each in its own line.
type costWords struct {
	_     atomics.CacheLinePad
	word  atomics.Uint64
	_     atomics.CacheLinePad
	plain uint64
	read  uint64 // keeps the loaded values of plain
	_     atomics.CacheLinePad
}

var operations = []operation{
	{"plain load", true, loadPlainly},
	{"plain store", true, storePlainly},
	{"load", false, loadWord},
	{"store-release", false, storeReleaseWord},
	{"store", false, storeWord},
	{"add", false, addWord},
	{"CAS that hits", false, hitWord},
	{"CAS that misses", false, missWord},
	{"swap", false, swapWord},
}

// The loops are separate functions so that each operation is inlined into one. The
// compiler moves no memory access out of a loop.

func loadPlainly(w *costWords, n int) {
	var read uint64
	for range n {
		read |= w.plain
	}
	w.read = read
}

func storePlainly(w *costWords, n int) {
	for range n {
		w.plain = 0
	}
}

func loadWord(w *costWords, n int) {
	for range n {
		w.word.Load()
	}
}

func storeReleaseWord(w *costWords, n int) {
	for range n {
		w.word.StoreRelease(0)
	}
}

func storeWord(w *costWords, n int) {
	for range n {
		w.word.Store(0)
	}
}

func addWord(w *costWords, n int) {
	for range n {
		w.word.Add(1)
	}
}

func hitWord(w *costWords, n int) {
	for range n {
		w.word.CompareAndSwap(0, 0)
	}
}

func missWord(w *costWords, n int) {
	for range n {
		w.word.CompareAndSwap(1, 1)
	}
}

func swapWord(w *costWords, n int) {
	for range n {
		w.word.Swap(0)
	}
}

// crowds returns the numbers of CPUs to measure with, up to n: the powers of two up to
// 64, and n.
func crowds(n int) []int {
	const most = 64
	var steps []int
	for k := 1; k < n && k <= most; k *= 2 {
		steps = append(steps, k)
	}
	return append(steps, n)
}

// A costCell is the result of one operation.
type costCell struct {
	op     operation
	crowds []int       // numbers of CPUs; only 1 if the operation is private
	ns     [][]float64 // for each crowd, a figure for each repeat

	// cycles are cycles of the cores, for one CPU and for all, a figure for each repeat.
	// They are empty if they cannot be counted.
	cycles [2][]float64
}

func newCostCell(op operation, crowds []int) *costCell {
	if op.private {
		crowds = crowds[:1]
	}
	return &costCell{op: op, crowds: crowds, ns: make([][]float64, len(crowds))}
}

// measure times the operation with each crowd, one immediately after the other.
func (c *costCell) measure(ctx context.Context, cpus []int, span time.Duration, counted bool) error {
	for i, crowd := range c.crowds {
		ns, cycles, err := timeOperation(ctx, c.op, cpus[:crowd], span, counted)
		if err != nil {
			return err
		}
		c.ns[i] = append(c.ns[i], ns)
		if !counted {
			continue
		}
		switch i {
		case 0:
			c.cycles[0] = append(c.cycles[0], cycles)
		case len(c.crowds) - 1:
			c.cycles[1] = append(c.cycles[1], cycles)
		}
	}
	return nil
}

// timeOperation returns the time of op on cpus together in ns, and its cycles of the core
// if they are counted, else 0.
func timeOperation(ctx context.Context, op operation, cpus []int, span time.Duration, counted bool) (ns, cycles float64, err error) {
	pinned, err := newPinnedThreads(cpus...)
	if err != nil {
		return 0, 0, err
	}
	defer pinned.close()
	words := new(costWords)
	run := func(_, n int) { op.run(words, n) }
	if ns, err = timed(ctx, pinned, span, run); err == nil && counted {
		cycles, err = countedPerOperation(pinned, coreCycles, run)
	}
	return ns, cycles, err
}

func (c *costCell) keep(repeats int) {
	for i := range c.ns {
		c.ns[i] = c.ns[i][:repeats]
	}
	for i, counts := range c.cycles {
		c.cycles[i] = counts[:min(repeats, len(counts))]
	}
}

// allCPUs returns the CPUs to bind threads to, or the same number of unbound.
func allCPUs() []int {
	cpus := machine.CPUOrder()
	if places := placements(); places[0].cpus[0] == unbound {
		for i := range cpus {
			cpus[i] = unbound
		}
	}
	return cpus
}

func runCost(ctx context.Context, o Options) (*harness.Finding, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := needTwoCPUs(); err != nil {
		return nil, err
	}
	cpus := allCPUs()
	var cells []*costCell
	parts := 0
	for _, op := range operations {
		c := newCostCell(op, crowds(len(cpus)))
		cells = append(cells, c)
		parts += len(c.crowds)
	}
	fast := &fastPathCell{paths: fastPaths()}
	counted, reason := countable(coreCycles)
	span := o.share(parts + len(fast.paths))
	done, err := repeat(ctx, o, func(int) error {
		for _, c := range cells {
			if err := c.measure(ctx, cpus, span, counted); err != nil {
				return err
			}
		}
		return fast.measure(ctx, cpus[0], span*time.Duration(len(fast.paths)))
	})
	if done == 0 {
		return nil, err
	}
	for _, c := range cells {
		c.keep(done)
	}
	ticks := newTickScale()
	return &harness.Finding{
		Answer: costAnswer(cells) + " " + fast.answer(),
		Tables: []harness.Table{crowdTable(cells), costTable(cells, len(cpus)), cycleTable(cells, ticks), fast.table()},
		Notes: append(ranOn(), fmt.Sprintf("compare-and-swap is %s; all CPUs are the CPUs %v", atomics.CASName(), cpus),
			ticks.note(), reason),
	}, err
}
