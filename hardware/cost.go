package hardware

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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
		return slices.Repeat([]int{unbound}, len(cpus))
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
	return measureCells(ctx, o, spans, append(cellsOf(costs), fast), func() *result.Finding {
		return &result.Finding{
			Answer: costAnswer(costs) + " " + fast.answer(),
			Tables: []result.Table{countTable(costs), costTable(costs, len(cpus)), fast.table()},
			Notes:  append(ranOn(), fmt.Sprintf("compare-and-swap is %s; all CPUs are the CPUs %v", atomics.CASName(), cpus)),
		}
	})
}

func (c *costCell) byAll() []float64 { return c.ns[len(c.ns)-1] }

func (c *costCell) timesAlone() result.Cell { return summarize(ratios(c.byAll(), c.ns[0])) }

func countTable(cells []*costCell) result.Table {
	t := result.Table{Caption: "Time of one operation on one word, by how many CPUs use it at once", Label: "CPUs", Chart: result.Lines, Log: true}
	for _, c := range cells {
		if c.op.private {
			continue
		}
		t.Columns = append(t.Columns, result.Column{Name: c.op.name, Unit: "ns", Plot: true})
		for i, count := range c.counts {
			if len(t.Rows) == i {
				t.Rows = append(t.Rows, result.Row{Label: strconv.Itoa(count), X: float64(count)})
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, summarize(c.ns[i]))
		}
	}
	return t
}

func costTable(cells []*costCell, cpus int) result.Table {
	t := result.Table{Caption: "Time of one operation, alone and with all CPUs on one line", Label: "operation", Chart: result.Bars, Log: true,
		Columns: []result.Column{{Name: "alone", Unit: "ns", Plot: true}, {Name: fmt.Sprintf("all %d CPUs", cpus), Unit: "ns", Plot: true}, {Name: "times alone"}}}
	for _, c := range cells {
		row := []result.Cell{summarize(c.ns[0]), {Text: "n/a"}, {Text: "n/a"}}
		if !c.op.private {
			row[1], row[2] = summarize(c.byAll()), c.timesAlone()
		}
		t.Rows = append(t.Rows, result.Row{Label: c.op.name, Cells: row})
	}
	return t
}

func costAnswer(cells []*costCell) string {
	shared := slices.DeleteFunc(slices.Clone(cells), func(c *costCell) bool { return c.op.private })
	byRatio := func(c, d *costCell) int { return cmp.Compare(c.timesAlone().Median, d.timesAlone().Median) }
	least, most := slices.MinFunc(shared, byRatio), slices.MaxFunc(shared, byRatio)
	return fmt.Sprintf("With all CPUs on one line an operation takes between %s times (%s) and %s times (%s) what it takes alone.",
		number(least.timesAlone().Median), least.op.name, number(most.timesAlone().Median), most.op.name)
}

// A fastPath takes and frees an uncontended lock n times; n > 0.
type fastPath struct {
	name string
	run  func(w *fastPathWords, n int)
}

type fastPathWords struct {
	_     atomics.CacheLinePad
	bare  uint32
	word  atomics.Uint32
	mutex sync.Mutex
	_     atomics.CacheLinePad
}

// Each loop is a function of its own so that the operations are inlined into it.
func fastPaths() []fastPath {
	paths := []fastPath{
		{"CompareAndSwap, StoreRelease", func(w *fastPathWords, n int) {
			for range n {
				w.word.CompareAndSwap(0, 1)
				w.word.StoreRelease(0)
			}
		}},
		{"CompareAndSwap, Store", func(w *fastPathWords, n int) {
			for range n {
				w.word.CompareAndSwap(0, 1)
				w.word.Store(0)
			}
		}},
		{"sync.Mutex", func(w *fastPathWords, n int) {
			for range n {
				w.mutex.Lock()
				//lint:ignore SA2001 the empty section is timed
				w.mutex.Unlock()
			}
		}},
	}
	if bareFastPath != nil {
		paths = slices.Insert(paths, 0, *bareFastPath)
	}
	return paths
}

// fastPathBatch makes blocks of 20 µs: long for the clock, short for changes of speed.
const fastPathBatch = 4096

// timeFastPaths times one block of each of paths, one immediately after the other, and appends
// the ns for an acquisition to each. So a slow machine affects all equally. The first path and
// the direction change with round, so that no path always follows the same one.
func timeFastPaths(paths []fastPath, w *fastPathWords, round int, ns [][]float64) {
	for k := range paths {
		i := (round/2 + k) % len(paths)
		if round%2 == 1 {
			i = len(paths) - 1 - i
		}
		start := time.Now()
		paths[i].run(w, fastPathBatch)
		ns[i] = append(ns[i], float64(time.Since(start))/fastPathBatch)
	}
}

type fastPathCell struct {
	paths     []fastPath
	cpu       int
	ns, ratio [][]float64 // for each path, a figure for each repeat; ratio is to the first path
}

func newFastPathCell(paths []fastPath, cpu int) *fastPathCell {
	return &fastPathCell{paths: paths, cpu: cpu, ns: make([][]float64, len(paths)), ratio: make([][]float64, len(paths))}
}

// measure times the paths in turn on one CPU, each for about span. It adds the median time of
// an acquisition, and the median of its ratios to the first path.
func (c *fastPathCell) measure(ctx context.Context, span time.Duration) error {
	pinned, err := newPinnedThreads(c.cpu)
	if err != nil {
		return err
	}
	defer pinned.close()
	const perStep = 100 // rounds, some milliseconds
	blocks := make([][]float64, len(c.paths))
	words := new(fastPathWords)
	round := 0
	err = during(ctx, span*time.Duration(len(c.paths)), func() {
		pinned.step(func(int) {
			for range perStep {
				timeFastPaths(c.paths, words, round, blocks)
				round++
			}
		})
	})
	if err != nil {
		return err
	}
	for i := range c.paths {
		c.ns[i] = append(c.ns[i], summarize(blocks[i]).Median)
		c.ratio[i] = append(c.ratio[i], summarize(ratios(blocks[i], blocks[0])).Median)
	}
	return nil
}

func (c *fastPathCell) table() result.Table {
	t := result.Table{Caption: "Taking and freeing an uncontended lock", Label: "instructions or calls", Chart: result.Bars,
		Columns: []result.Column{{Name: "time of both", Unit: "ns", Plot: true}, {Name: "times the first"}}}
	for i, p := range c.paths {
		t.Rows = append(t.Rows, result.Row{Label: p.name, Cells: []result.Cell{summarize(c.ns[i]), summarize(c.ratio[i])}})
	}
	return t
}

func (c *fastPathCell) answer() string {
	var others []string
	for i, p := range c.paths[1:] {
		others = append(others, fmt.Sprintf("%s times by %s", number(summarize(c.ratio[i+1]).Median), p.name))
	}
	return fmt.Sprintf("To take and free an uncontended lock costs, compared with %s, %s.", c.paths[0].name, strings.Join(others, ", "))
}
