package hardware

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

var falseSharing = &Experiment{
	Name:     "false-sharing",
	Question: "How far apart must two counters be so that two CPUs do not disturb each other?",
	Method: "Two threads on two CPUs each raise their own counter, at different distances in bytes; then one does it alone. " +
		"What counts is the time of one increment as a multiple of the time alone.",
	Source:    "Intel Optimization Reference Manual, False Sharing",
	Available: needTwoCPUs,
	run:       runFalseSharing,
}

var distances = []int{8, 16, 24, 32, 40, 48, 56, 64, 128, 192, 256}

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

// addPlainly is one instruction on amd64. *p is in no register during the loop.
//
//go:noinline
func addPlainly(p *uint64, n int) {
	for range n {
		*p++
	}
}

func alignedWords(n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(alignedBytes(8*n, 256)))), n)
}

type sharingCell struct {
	inc      increment
	distance int
	cpus     []int
	ns       []float64 // a figure for each repeat
}

func sharingCells() (groups [][]*sharingCell) {
	for _, inc := range increments {
		alone := &sharingCell{inc: inc}
		groups = append(groups, append([]*sharingCell{alone}, result.Each(distances, func(d int) *sharingCell {
			return &sharingCell{inc: inc, distance: d}
		})...))
	}
	return groups
}

func (c *sharingCell) measure(ctx context.Context, span time.Duration) error {
	threads := c.cpus
	if c.distance == 0 {
		threads = threads[:1]
	}
	words := alignedWords(distances[len(distances)-1]/8 + 1)
	ns, err := timed(ctx, threads, span, func(i, n int) { c.inc.run(&words[i*c.distance/8], n) })
	if err == nil {
		c.ns = append(c.ns, ns)
	}
	return err
}

func runFalseSharing(ctx context.Context, o Options) (*result.Finding, error) {
	place, groups := apart(), sharingCells()
	cells := slices.Concat(groups...)
	for _, c := range cells {
		c.cpus = place.cpus
	}
	return measureCells(ctx, o, len(cells), cellsOf(cells), func() *result.Finding {
		answers := result.Each(groups, sharingAnswer)
		return &result.Finding{Answer: numfmt.Sentence(strings.Join(answers, "; ")), Tables: sharingTables(groups), Notes: ranOn(place)}
	})
}

// sharingTables show a column for each group: as multiples of the time alone, and in ns.
// The first cell of a group is alone.
func sharingTables(groups [][]*sharingCell) []result.Table {
	multiple := result.Table{Caption: "Time of one increment, as a multiple of the time alone, by how far apart the counters are", Label: "bytes apart", Chart: result.Lines, Log: true}
	time := result.Table{Caption: "Time of one increment", Label: "bytes apart"}
	for _, group := range groups {
		multiple.Columns = append(multiple.Columns, result.Column{Name: group[0].inc.name, Unit: "times alone", Plot: true})
		time.Columns = append(time.Columns, result.Column{Name: group[0].inc.name, Unit: "ns"})
	}
	for i, first := range groups[0] {
		at, label := result.Row{Label: strconv.Itoa(first.distance), X: float64(first.distance)}, strconv.Itoa(first.distance)
		if first.distance == 0 {
			label = "alone"
		}
		in := result.Row{Label: label}
		for _, group := range groups {
			at.Cells = append(at.Cells, summarize(ratios(group[i].ns, group[0].ns)))
			in.Cells = append(in.Cells, summarize(group[i].ns))
		}
		if first.distance > 0 {
			multiple.Rows = append(multiple.Rows, at)
		}
		time.Rows = append(time.Rows, in)
	}
	return []result.Table{multiple, time}
}

// sharingAnswer reports the cost of sharing a line and the distance at which it ends:
// from there every ratio is nearer to 1 than to the greatest, in proportion. It is inconclusive
// if a repeat contradicts the greatest ratio, or a high one at the greatest distance.
func sharingAnswer(cells []*sharingCell) string {
	name := cells[0].inc.name
	multiple := func(c *sharingCell) result.Cell { return summarize(ratios(c.ns, cells[0].ns)) }
	ratio := func(c *sharingCell) float64 { return multiple(c).Median }
	worst := slices.MaxFunc(cells[1:], func(c, d *sharingCell) int { return cmp.Compare(ratio(c), ratio(d)) })
	const noise = 1.5
	if ratio(worst) < noise {
		return fmt.Sprintf("%s: at no distance more than %s times alone", name, number(ratio(worst)))
	}
	if last := cells[len(cells)-1]; multiple(worst).Lo <= 1 || multiple(last).Lo <= 1 && ratio(last) >= noise {
		return fmt.Sprintf("%s: inconclusive, %s times alone at %d bytes and %s at %d", name, multiple(worst), worst.distance, multiple(last), last.distance)
	}
	limit := math.Sqrt(ratio(worst))
	free, rest := 0, 0.0
	for i := len(cells) - 1; i > 0 && ratio(cells[i]) < limit; i-- {
		free, rest = cells[i].distance, max(rest, ratio(cells[i]))
	}
	cost := fmt.Sprintf("%s: up to %s times alone, at %d bytes", name, number(ratio(worst)), worst.distance)
	if free == 0 {
		return cost + ", and it still does so at the greatest distance"
	}
	return fmt.Sprintf("%s, from %d bytes on at most %s times", cost, free, number(rest))
}
