package experiment

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"locklab/atomics"
	"locklab/harness"
)

var coreToCore = &Experiment{
	Name:     "core-to-core",
	Question: "How long does a word take from one CPU to another?",
	Method: "Two bound threads hand a word to and fro: each spins on a compare-and-swap, without looking first. " +
		"The time of a round trip is halved; every pair of CPUs and every sample has a fresh cache line.",
	Source:    "Viennot, core-to-core-latency, 2022",
	Available: needTwoCPUs,
	Run:       runCoreToCore,
}

// A hopCell is one pair of CPUs.
type hopCell struct {
	cpus [2]int
	ns   []float64 // one way, a figure for each repeat
}

// hand does one thread's part of hops round trips: it turns me into the other.
func hand(w *atomics.Uint64, me uint64, hops int) {
	for range hops {
		for !w.CompareAndSwap(me, 1-me) {
		}
	}
}

// measure takes samples for about span and keeps their median: a few of them
// were disturbed.
func (c *hopCell) measure(ctx context.Context, span time.Duration) error {
	const (
		hops  = 2000 // about 0.1 ms
		least = 31   // samples
	)
	crew, err := newCrew(c.cpus[:]...)
	if err != nil {
		return err
	}
	defer crew.close()
	var samples []float64
	for start := time.Now(); len(samples) < least || time.Since(start) < span; {
		if err := ctx.Err(); err != nil {
			return err
		}
		line := new(struct {
			_ atomics.CacheLinePad
			w atomics.Uint64
			_ atomics.CacheLinePad
		})
		var took [2]time.Duration
		crew.step(func(i int) {
			hand(&line.w, uint64(i), 1) // both are here now
			start := time.Now()
			hand(&line.w, uint64(i), hops)
			took[i] = time.Since(start)
		})
		samples = append(samples, float64(took[1])/(2*hops))
		runtime.KeepAlive(line)
	}
	slices.Sort(samples)
	c.ns = append(c.ns, samples[len(samples)/2])
	return nil
}

// Beyond so many CPUs only the pairs with the first are measured.
const maxPaired = 16

func pairsOf(cpus []int) []*hopCell {
	var cells []*hopCell
	for i, a := range cpus {
		for _, b := range cpus[i+1:] {
			cells = append(cells, &hopCell{cpus: [2]int{a, b}})
		}
		if len(cpus) > maxPaired {
			break
		}
	}
	return cells
}

func runCoreToCore(ctx context.Context, o Options) (*harness.Finding, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := needTwoCPUs(); err != nil {
		return nil, err
	}
	cpus := allCPUs()
	cells := pairsOf(cpus)
	span := o.share(len(cells))
	done, err := repeat(ctx, o, func(int) error {
		for _, c := range cells {
			if err := c.measure(ctx, span); err != nil {
				return err
			}
		}
		return nil
	})
	if done == 0 {
		return nil, err
	}
	t := harness.Table{Caption: "One way, by a spin on compare-and-swap", Label: "CPUs", Columns: []harness.Column{{Name: "time", Unit: "ns"}}}
	for _, c := range cells {
		c.ns = c.ns[:done]
		t.Rows = append(t.Rows, harness.Row{Label: fmt.Sprintf("%d and %d", c.cpus[0], c.cpus[1]), Cells: []harness.Cell{summarize(c.ns)}})
	}
	f := &harness.Finding{Answer: hopAnswer(cells), Tables: []harness.Table{t}, Notes: ranOn()}
	if len(cpus) > maxPaired {
		f.Notes = append(f.Notes, fmt.Sprintf("more than %d CPUs: only pairs with CPU %d", maxPaired, cpus[0]))
	}
	return f, err
}

// hopAnswer compares the pairs, or for a single one its repeats.
func hopAnswer(cells []*hopCell) string {
	first := summarize(cells[0].ns)
	if len(cells) == 1 {
		return fmt.Sprintf("%s ns one way; the slowest repeat took %s times as long as the fastest.", number(first.Median), number(first.Hi/first.Lo))
	}
	near, far := first.Median, first.Median
	for _, c := range cells {
		m := summarize(c.ns).Median
		near, far = min(near, m), max(far, m)
	}
	return fmt.Sprintf("%s ns one way between the nearest CPUs and %s ns between the farthest, %s times as long.",
		number(near), number(far), number(far/near))
}
