package experiment

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
	Question: "What does an operation on a shared word cost, alone and with all CPUs on one line?",
	Method: "Each operation runs in a loop, on one CPU and then on all of them at one word; batches are timed, " +
		"so a figure is a mean with the loop in it, and loads that overlap take less than one takes. What counts is the ratio within one run.",
	Source:    "David, Guerraoui and Trigonakis, Everything You Always Wanted to Know About Synchronization, SOSP 2013",
	Available: needTwoCPUs,
	Run:       runCost,
}

// An operation does one thing n times to w, which holds 0 unless the operation
// is an add. A hit writes the 0 that is there, so it hits under contention too.
type operation struct {
	name string
	run  func(w *atomics.Uint64, n int)
}

var operations = []operation{
	{"load", loadWord},
	{"store-release", storeReleaseWord},
	{"store", storeWord},
	{"add", addWord},
	{"CAS that hits", hitWord},
	{"CAS that misses", missWord},
	{"swap", swapWord},
}

// The loops are functions of their own so that each operation is inlined into
// one.

func loadWord(w *atomics.Uint64, n int) {
	for range n {
		w.Load()
	}
}

func storeReleaseWord(w *atomics.Uint64, n int) {
	for range n {
		w.StoreRelease(0)
	}
}

func storeWord(w *atomics.Uint64, n int) {
	for range n {
		w.Store(0)
	}
}

func addWord(w *atomics.Uint64, n int) {
	for range n {
		w.Add(1)
	}
}

func hitWord(w *atomics.Uint64, n int) {
	for range n {
		w.CompareAndSwap(0, 0)
	}
}

func missWord(w *atomics.Uint64, n int) {
	for range n {
		w.CompareAndSwap(1, 1)
	}
}

func swapWord(w *atomics.Uint64, n int) {
	for range n {
		w.Swap(0)
	}
}

// A costCell is what one operation took, a figure for each repeat.
type costCell struct {
	op            operation
	alone, shared []float64 // ns
}

// measure times the operation alone and, right after, on all CPUs.
func (c *costCell) measure(ctx context.Context, cpus []int, span time.Duration) error {
	alone, err := timeOperation(ctx, c.op, cpus[:1], span)
	if err != nil {
		return err
	}
	shared, err := timeOperation(ctx, c.op, cpus, span)
	if err != nil {
		return err
	}
	c.alone = append(c.alone, alone)
	c.shared = append(c.shared, shared)
	return nil
}

func timeOperation(ctx context.Context, op operation, cpus []int, span time.Duration) (float64, error) {
	crew, err := newCrew(cpus...)
	if err != nil {
		return 0, err
	}
	defer crew.close()
	var line struct {
		_ atomics.CacheLinePad
		w atomics.Uint64
		_ atomics.CacheLinePad
	}
	return timed(ctx, crew, span, func(_, n int) { op.run(&line.w, n) })
}

// allCPUs returns the CPUs to bind threads to, or as many times unbound.
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
	for _, op := range operations {
		cells = append(cells, &costCell{op: op})
	}
	span := o.share(2 * len(cells))
	done, err := repeat(ctx, o, func(int) error {
		for _, c := range cells {
			if err := c.measure(ctx, cpus, span); err != nil {
				return err
			}
		}
		return nil
	})
	if done == 0 {
		return nil, err
	}
	t := harness.Table{Caption: "Time of one operation", Label: "operation",
		Columns: []harness.Column{{Name: "alone", Unit: "ns"}, {Name: "all CPUs", Unit: "ns"}, {Name: "times alone"}}}
	for _, c := range cells {
		c.alone, c.shared = c.alone[:done], c.shared[:done]
		t.Rows = append(t.Rows, harness.Row{Label: c.op.name, Cells: []harness.Cell{summarize(c.alone), summarize(c.shared), summarize(ratios(c.shared, c.alone))}})
	}
	notes := append(ranOn(), fmt.Sprintf("compare-and-swap is %s; all CPUs are the CPUs %v", atomics.CASName(), cpus))
	return &harness.Finding{Answer: costAnswer(cells), Tables: []harness.Table{t}, Notes: notes}, err
}

// costAnswer names the operations that suffer least and most. cells is not
// empty.
func costAnswer(cells []*costCell) string {
	ratio := func(c *costCell) float64 { return summarize(ratios(c.shared, c.alone)).Median }
	least, most := cells[0], cells[0]
	for _, c := range cells {
		if ratio(c) < ratio(least) {
			least = c
		}
		if ratio(c) > ratio(most) {
			most = c
		}
	}
	return fmt.Sprintf("With all CPUs on one line an operation takes between %s times (%s) and %s times (%s) what it takes alone.",
		number(ratio(least)), least.op.name, number(ratio(most)), most.op.name)
}
