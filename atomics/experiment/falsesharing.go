package experiment

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"locklab/harness"
)

var falseSharing = &Experiment{
	Name:     "false-sharing",
	Question: "How far apart must two counters be so that two CPUs do not disturb each other?",
	Method: "Two threads on two CPUs each raise a counter of their own, so many bytes apart; then one does it alone. " +
		"What counts is the time of one increment as a multiple of the time alone.",
	Source:    "Intel Optimization Reference Manual, False Sharing",
	Available: needTwoCPUs,
	Run:       runFalseSharing,
}

// distances between the two counters, in bytes.
var distances = []int{8, 32, 56, 64, 128, 256}

// An increment raises *p n times.
type increment struct {
	name string
	run  func(p *uint64, n int)
}

var increments = []increment{
	{"atomic add", addAtomically},
	{"plain increment", addPlainly},
}

//go:noinline
func addAtomically(p *uint64, n int) {
	for range n {
		atomic.AddUint64(p, 1)
	}
}

// addPlainly is one instruction that reads and writes memory on amd64. The
// compiler does not keep *p in a register over the loop.
//
//go:noinline
func addPlainly(p *uint64, n int) {
	for range n {
		*p++
	}
}

// alignedWords returns n words that start at a multiple of 256 bytes.
func alignedWords(n int) []uint64 {
	const size, align = 8, 256
	words := make([]uint64, n+align/size)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(words))) % align / size
	return words[skip:][:n]
}

// A sharingCell is one kind of increment at one distance; distance 0 is alone.
type sharingCell struct {
	inc      increment
	distance int
	ns       []float64 // a figure for each repeat
}

func (c *sharingCell) measure(ctx context.Context, cpus [2]int, span time.Duration) error {
	threads := cpus[:]
	if c.distance == 0 {
		threads = cpus[:1]
	}
	crew, err := newCrew(threads...)
	if err != nil {
		return err
	}
	defer crew.close()
	words := alignedWords(distances[len(distances)-1]/8 + 1)
	ns, err := timed(ctx, crew, span, func(i, n int) { c.inc.run(&words[i*c.distance/8], n) })
	if err == nil {
		c.ns = append(c.ns, ns)
	}
	return err
}

func runFalseSharing(ctx context.Context, o Options) (*harness.Finding, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := needTwoCPUs(); err != nil {
		return nil, err
	}
	places := placements()
	apart := places[len(places)-1]
	var cells []*sharingCell
	for _, inc := range increments {
		for _, d := range append([]int{0}, distances...) {
			cells = append(cells, &sharingCell{inc: inc, distance: d})
		}
	}
	span := o.share(len(cells))
	done, err := repeat(ctx, o, func(int) error {
		for _, c := range cells {
			if err := c.measure(ctx, apart.cpus, span); err != nil {
				return err
			}
		}
		return nil
	})
	if done == 0 {
		return nil, err
	}
	for _, c := range cells {
		c.ns = c.ns[:done]
	}
	f := &harness.Finding{Notes: ranOn(apart)}
	var answers []string
	for i, inc := range increments {
		group := cells[i*len(cells)/len(increments):][:len(cells)/len(increments)]
		f.Tables = append(f.Tables, sharingTable(inc, group))
		answers = append(answers, sharingAnswer(inc, group))
	}
	f.Answer = strings.Join(answers, "; ") + "."
	return f, err
}

// sharingTable shows cells, the first of which is alone.
func sharingTable(inc increment, cells []*sharingCell) harness.Table {
	t := harness.Table{Caption: inc.name, Label: "bytes apart", Columns: []harness.Column{{Name: "time", Unit: "ns"}, {Name: "times alone"}}}
	for _, c := range cells {
		label := fmt.Sprint(c.distance)
		if c.distance == 0 {
			label = "alone"
		}
		t.Rows = append(t.Rows, harness.Row{Label: label, Cells: []harness.Cell{summarize(c.ns), summarize(ratios(c.ns, cells[0].ns))}})
	}
	return t
}

// sharingAnswer says what sharing a line costs and from which distance on it
// does not: the first from which every ratio is nearer to 1 than to the
// greatest, in proportion.
func sharingAnswer(inc increment, cells []*sharingCell) string {
	ratio := func(c *sharingCell) float64 { return summarize(ratios(c.ns, cells[0].ns)).Median }
	worst := cells[1]
	for _, c := range cells[2:] {
		if ratio(c) > ratio(worst) {
			worst = c
		}
	}
	const noise = 1.5
	if ratio(worst) < noise {
		return fmt.Sprintf("%s: at no distance more than %s times alone", inc.name, number(ratio(worst)))
	}
	limit := math.Sqrt(ratio(worst))
	free, rest := 0, 0.0
	for i := len(cells) - 1; i > 0 && ratio(cells[i]) < limit; i-- {
		free, rest = cells[i].distance, max(rest, ratio(cells[i]))
	}
	cost := fmt.Sprintf("%s: up to %s times alone, at %d bytes", inc.name, number(ratio(worst)), worst.distance)
	if free == 0 {
		return cost + ", and it is not over at the greatest distance"
	}
	return fmt.Sprintf("%s, from %d bytes on at most %s times", cost, free, number(rest))
}
