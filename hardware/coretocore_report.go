package hardware

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

func hopFinding(cpus []int, pairs []*hopPair) *result.Finding {
	shown := measuredPairs(pairs)
	if len(shown) == 0 {
		return nil
	}
	levels := result.Each(shown, func(p *hopPair) [][]float64 { return regimesOf(slices.Sorted(slices.Values(p.cas))) })
	both := bothTable(shown, levels)
	f := &result.Finding{
		Tables: []result.Table{hopField(cpus, shown), relationTable(pairs), regimeTable(groupRegimes(levels))},
		Notes:  hopNotes(cpus, pairs, shown, levels),
		Answer: hopAnswer(shown, levels) + bothSentence(both),
	}
	if len(both.Rows) > 0 {
		f.Tables = append(f.Tables, both)
	}
	return f
}

func measuredPairs(pairs []*hopPair) []*hopPair {
	out := slices.DeleteFunc(slices.Clone(pairs), func(p *hopPair) bool { return !p.measured() })
	slices.SortFunc(out, func(p, q *hopPair) int { return slices.Compare(p.cpus[:], q.cpus[:]) })
	return out
}

func hopField(cpus []int, pairs []*hopPair) result.Table {
	t := result.Table{Caption: "One way by CAS-spin: median of the samples, with a 95 % interval", Label: "CPU", Chart: result.Heat, Log: true}
	place := make(map[int]int)
	for i, cpu := range cpus {
		place[cpu] = i
		name := strings.TrimPrefix(cpuName(cpu), "CPU ")
		t.Columns = append(t.Columns, result.Column{Name: name, Unit: "ns", Plot: true})
		t.Rows = append(t.Rows, result.Row{Label: name, Cells: make([]result.Cell, len(cpus))})
	}
	for _, p := range pairs {
		c := medianCell(p.cas)
		i, j := place[p.cpus[0]], place[p.cpus[1]]
		t.Rows[i].Cells[j], t.Rows[j].Cells[i] = c, c
	}
	return t
}

func relationTable(pairs []*hopPair) result.Table {
	t := result.Table{Caption: "One way by CAS-spin, by where the two CPUs are: median of the pairs, least and greatest", Label: "the two are",
		Columns: []result.Column{{Name: "pairs"}, {Name: "measured"}, {Name: "time", Unit: "ns"}}}
	for r := machine.SameCPU; r <= machine.Unknown; r++ {
		total, medians := 0, []float64(nil)
		for _, p := range pairs {
			if p.relation != r {
				continue
			}
			total++
			if p.measured() {
				medians = append(medians, stat.Median(p.cas))
			}
		}
		if total > 0 {
			t.Rows = append(t.Rows, result.Row{Label: r.String(), Cells: []result.Cell{exact(float64(total)), exact(float64(len(medians))), summarize(medians)}})
		}
	}
	if len(t.Rows) > 1 {
		t.Chart, t.Log, t.Columns[2].Plot = result.Bars, true, true
	}
	return t
}

func regimeTable(regimes []regime) result.Table {
	t := result.Table{Caption: "Regimes: levels between which the samples of a pair jump, or that differ between pairs", Label: "regime",
		Columns: []result.Column{{Name: "time", Unit: "ns"}, {Name: "of the samples", Unit: "%"}, {Name: "pairs seen in it"}}}
	total := samplesOf(regimes)
	for i, r := range regimes {
		t.Rows = append(t.Rows, result.Row{Label: fmt.Sprint(i + 1), Cells: []result.Cell{medianCell(r.samples),
			exact(100 * float64(len(r.samples)) / float64(total)), exact(float64(r.pairs))}})
	}
	return t
}

func samplesOf(regimes []regime) (n int) {
	for _, r := range regimes {
		n += len(r.samples)
	}
	return n
}

func bothTable(pairs []*hopPair, levels [][][]float64) result.Table {
	t := result.Table{Caption: fmt.Sprintf("CAS-spin and load, then CAS, in adjacent blocks of %d samples", hopBlock), Label: "between", Chart: result.Bars,
		Columns: []result.Column{{Name: casSpin.name, Unit: "ns", Plot: true}, {Name: loadThenCAS.name, Unit: "ns", Plot: true}, {Name: "ratio"}}}
	for i, p := range pairs {
		regimes := make([][2][]float64, len(levels[i]))
		cas, load := p.blocks()
		for j := range cas {
			r := &regimes[regimeOf(levels[i], cas[j])]
			r[0], r[1] = append(r[0], cas[j]), append(r[1], load[j])
		}
		for j, r := range regimes {
			if len(r[0]) == 0 {
				continue
			}
			row := result.Row{Label: p.names()}
			if len(regimes) > 1 {
				row.Label += fmt.Sprintf(", at %s ns", number(stat.Median(levels[i][j])))
			}
			row.Cells = result.Each([][]float64{r[0], r[1], ratios(r[1], r[0])}, medianCell)
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func bothSentence(t result.Table) string {
	figures := result.Each(t.Rows, func(r result.Row) float64 { return r.Cells[len(r.Cells)-1].Median })
	if len(figures) == 0 {
		return ""
	}
	slices.Sort(figures)
	const same = 1.1
	if lo, hi := figures[0], figures[len(figures)-1]; hi > same*lo {
		return fmt.Sprintf(" Load, then CAS takes %s to %s times as long, depending on the pair and the regime.", number(lo), number(hi))
	}
	return fmt.Sprintf(" Load, then CAS takes %s times as long.", number(stat.Median(figures)))
}

func unsteady(levels [][][]float64) (pairs int) {
	for _, l := range levels {
		if len(l) > 1 {
			pairs++
		}
	}
	return pairs
}

func hopNotes(cpus []int, pairs, shown []*hopPair, levels [][][]float64) []string {
	notes := ranOn()
	if cpus[0] < 0 {
		notes = append(notes, "threads are not bound: this system does not offer it, so it is not known between which CPUs the word went")
	}
	samples := result.Each(shown, func(p *hopPair) int { return len(p.cas) })
	notes = append(notes, fmt.Sprintf("%s of a pair; the samples of one visit resemble each other, so between two runs a median moves by more than its interval", numfmt.Range(samples, "sample")))
	if n := len(pairs) - len(shown); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pairs are not measured and empty in the field: give more time with a larger budget", n, len(pairs)))
	}
	if n := unsteady(levels); n > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d pairs were in more than one regime; the host of a virtual machine moves its CPUs, which the topology does not show, and the clock rate of a CPU changes",
			n, len(shown)))
	}
	return notes
}

func hopAnswer(shown []*hopPair, levels [][][]float64) string {
	if len(shown) == 1 && len(levels[0]) > 1 {
		// A median over regimes may be a value that never occurred.
		return fmt.Sprintf("By CAS-spin a word takes %s one way between %s, depending on the regime.",
			regimeShares(groupRegimes(levels), " or "), shown[0].names())
	}
	byMedian := func(p, q *hopPair) int { return cmp.Compare(stat.Median(p.cas), stat.Median(q.cas)) }
	near, far := slices.MinFunc(shown, byMedian), slices.MaxFunc(shown, byMedian)
	text := fmt.Sprintf("By CAS-spin a word takes %s ns one way between %s", number(stat.Median(near.cas)), near.names())
	if len(shown) > 1 {
		text += fmt.Sprintf(", the nearest, and %s ns between %s, the farthest, %s times as long",
			number(stat.Median(far.cas)), far.names(), number(stat.Median(far.cas)/stat.Median(near.cas)))
	}
	return text + ". " + regimeSentence(shown, levels)
}

func regimeShares(regimes []regime, and string) string {
	total := samplesOf(regimes)
	var parts []string
	of := " of the samples"
	for _, r := range regimes {
		parts = append(parts, fmt.Sprintf("%s ns (%s %%%s)", number(stat.Median(r.samples)), share(len(r.samples), total), of))
		of = ""
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + and + parts[last]
}

func share(part, whole int) string {
	percent := 100 * float64(part) / float64(whole)
	if percent < 1 {
		return fmt.Sprintf("%.1g", percent)
	}
	return fmt.Sprintf("%.0f", percent)
}

func regimeSentence(shown []*hopPair, levels [][][]float64) string {
	regimes := groupRegimes(levels)
	if len(regimes) == 1 {
		return "All samples are in one regime."
	}
	text := fmt.Sprintf("There are %d regimes: %s", len(regimes), regimeShares(regimes, " and "))
	switch u := unsteady(levels); {
	case u == 0:
		text += ", and no pair changed from one to another"
	case 2*u > len(shown):
		text += fmt.Sprintf("; %d of %d pairs changed from one to another, so what differs between pairs may be the time, not the place", u, len(shown))
	default:
		text += fmt.Sprintf("; %d of %d pairs changed from one to another", u, len(shown))
	}
	return text + "."
}

// Regimes are levels between which a figure jumps: a host moves CPUs, and a handover takes
// three times as long. Their common median may never have occurred, so they are separated.
const (
	regimeGap    = 1.3  // two levels differ by at least this factor
	regimeNear   = 1.13 // samples within this factor of a time are near it: a little less than √regimeGap
	regimeValley = 0.25 // the samples between them are at most this share of the rarer level's
	regimeLeast  = 5    // minimum samples near the middle of a regime
	regimeShare  = 0.03 // minimum share of all samples
)

// regimesOf divides sorted positive samples into regimes, from fast to slow. It splits at the
// deepest valley of the density, which is the number of near samples, if both sides have a
// level with enough samples; then it divides the two sides.
func regimesOf(sorted []float64) [][]float64 {
	return divide(sorted, max(regimeLeast, int(regimeShare*float64(len(sorted)))))
}

func divide(sorted []float64, least int) [][]float64 {
	n := len(sorted)
	if n == 0 {
		return nil
	}
	near := func(x float64) int {
		from, _ := slices.BinarySearch(sorted, x/regimeNear)
		to, _ := slices.BinarySearch(sorted, x*regimeNear)
		return to - from
	}
	slower := make([]int, n+1) // the densest level from a sample on
	for i := n - 1; i >= 0; i-- {
		slower[i] = max(slower[i+1], near(sorted[i]))
	}
	at, depth, faster := 0, regimeValley, 0
	for i := 1; i < n; i++ {
		faster = max(faster, near(sorted[i-1]))
		rarer := min(faster, slower[i])
		if d := float64(near(math.Sqrt(sorted[i-1]*sorted[i]))) / float64(rarer); rarer >= least && d <= depth {
			at, depth = i, d
		}
	}
	if at == 0 {
		return [][]float64{sorted}
	}
	return append(divide(sorted[:at], least), divide(sorted[at:], least)...)
}

func regimeOf(regimes [][]float64, x float64) int {
	for i, r := range regimes[:len(regimes)-1] {
		if x <= r[len(r)-1] {
			return i
		}
	}
	return len(regimes) - 1
}

type regime struct {
	samples []float64 // sorted
	pairs   int       // number of pairs with samples in it
}

// groupRegimes merges the regimes of several pairs into sequences of medians without a gap.
func groupRegimes(pairs [][][]float64) []regime {
	type level struct {
		median  float64
		samples []float64
		pair    int
	}
	var levels []level
	for i, regimes := range pairs {
		for _, samples := range regimes {
			levels = append(levels, level{stat.Median(samples), samples, i})
		}
	}
	slices.SortFunc(levels, func(a, b level) int { return cmp.Or(cmp.Compare(a.median, b.median), a.pair-b.pair) })
	var out []regime
	var seen map[int]bool
	for i, l := range levels {
		if i == 0 || l.median > regimeGap*levels[i-1].median {
			out = append(out, regime{})
			seen = make(map[int]bool)
		}
		r := &out[len(out)-1]
		r.samples = append(r.samples, l.samples...)
		if !seen[l.pair] {
			seen[l.pair] = true
			r.pairs++
		}
	}
	for i := range out {
		slices.Sort(out[i].samples)
	}
	return out
}

// medianCell returns the median of samples with its 95 % interval by order statistics, or
// the extremes if there are fewer than six samples.
func medianCell(samples []float64) result.Cell {
	s := stat.Summarize(samples)
	if s.N == 0 {
		return result.Cell{}
	}
	return result.Cell{Median: s.Median, Lo: s.Lo, Hi: s.Hi, N: s.N}
}
