package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// A match is the groups of one workload, of local or of remote locks, that more
// than one machine measured.
type match struct {
	remote   bool
	axes     string
	machines []Machine
	looks    []look
	groups   []*group // by machine
	cpus     int      // of every machine, 0 if they differ

	shared []int // by machine: how many cases of the whole run the first one has too
}

// matches returns what the machines have in common: local locks first, and in
// the order of the machines that have it.
func matches(ms []Machine) (out []*match) {
	type key struct {
		remote bool
		axes   string
	}
	index := make(map[key]*match)
	for i, m := range ms {
		for _, g := range groups(m.Run) {
			k := key{g.Remote, g.Axes}
			x := index[k]
			if x == nil {
				x = &match{remote: g.Remote, axes: g.Axes, cpus: g.CPUs}
				index[k] = x
				out = append(out, x)
			}
			l := columnLook(i)
			l.name = m.Name
			x.machines, x.looks, x.groups = append(x.machines, m), append(x.looks, l), append(x.groups, g)
			if g.CPUs != x.cpus {
				x.cpus = 0
			}
		}
	}
	out = slices.DeleteFunc(out, func(x *match) bool { return len(x.groups) < 2 })
	for _, x := range out {
		for _, m := range x.machines {
			x.shared = append(x.shared, sharedCases(x.machines[0].Run, m.Run))
		}
	}
	slices.SortStableFunc(out, func(a, b *match) int {
		if a.remote != b.remote {
			return map[bool]int{false: -1, true: 1}[a.remote]
		}
		return 0
	})
	return out
}

// sharedCases returns how many cases of two runs can be compared: as many intervals
// hold together, whichever of them is looked at. "locklab compare" counts them alike.
func sharedCases(a, b *resultfile.Run) (n int) {
	type key struct{ lock, workload string }
	has := func(run *resultfile.Run) map[key]bool {
		out := make(map[key]bool)
		broken := verdict.Violations(run)
		for _, r := range run.Results {
			if _, ok := metric.Throughput.Of(r); ok && broken[r.Lock.Name] == nil {
				out[key{r.Lock.Name, r.Workload.Name()}] = true
			}
		}
		return out
	}
	other := has(b)
	for k := range has(a) {
		if other[k] {
			n++
		}
	}
	return n
}

// cell returns the rounds of a lock on machine i with w workers, or nil.
func (x *match) cell(i int, lock string, w int) *cell {
	for _, s := range x.groups[i].series {
		if s.Lock.Name == lock {
			return s.Cells[w]
		}
	}
	return nil
}

// locks returns the series of the locks that two machines measured or more, as
// one of them has it.
func (x *match) locks() (out []*series) {
	seen := make(map[string]int)
	for _, g := range x.groups {
		for _, s := range g.series {
			if seen[s.Lock.Name]++; seen[s.Lock.Name] == 2 {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *series) int { return a.look.compare(b.look) })
	return out
}

// workers returns the numbers of workers of all groups, ascending.
func (x *match) workers() (ws []int) {
	for _, g := range x.groups {
		ws = append(ws, g.Workers...)
	}
	slices.Sort(ws)
	return slices.Compact(ws)
}

const ratioDoc = "Mark: the rate on a machine over that on the first one, the median of the ratios of every round of the one to every round of the other; bar: its interval at 95 % for all cases that the two machines share together (Bonferroni), by the ranks that the Mann-Whitney test allows. Rounds of two machines are not pairs: what disturbed one of them does not cancel, as it does between two locks of one run. Pale: not apart from the same rate. Hue: family of the lock; shape: machine; bold: a lock to use."

// ratios compares every machine with the first: a sweep over machines, whose
// effects are of rounds that are no pairs.
func (x *match) ratios() *sweep {
	s := &sweep{dimension: &dimension{name: "the machine"}, remote: x.remote, context: x.axes, cpus: x.cpus,
		groups: x.groups, memo: make(map[[2]int][]effect), axis: "rate ÷ rate on " + x.machines[0].Name}
	for i, m := range x.machines {
		s.settings = append(s.settings, setting{float64(i), m.Name})
		for _, w := range x.workers() {
			s.memo[[2]int{i, w}] = x.ratio(s, i, w)
		}
	}
	s.count()
	return s
}

// ratio returns the effects of machine i on every lock, with w workers.
func (x *match) ratio(s *sweep, i, w int) (out []effect) {
	m := s.metric(w)
	type pair struct {
		s    *series
		a, b *cell
	}
	var ps []pair
	for _, base := range x.groups[0].at(w) {
		acquired := base.Cells[w].Summary(m).Median > 0
		if c := x.cell(i, base.Lock.Name, w); c != nil && acquired && base.Lock.Status != harness.Control {
			ps = append(ps, pair{base, c, base.Cells[w]})
		}
	}
	level := stat.Level(x.shared[i])
	for _, p := range ps {
		e := effect{p.s, i, stat.Unpaired(p.a.Figures(m), p.b.Figures(m), level), p.a.Summary(m)}
		if e.N > 0 && e.Median > 0 && !math.IsInf(e.Median, 0) {
			out = append(out, e)
		}
	}
	return out
}

// drawRatios draws the ratios of the machines.
func (x *match) drawRatios() picture {
	s := x.ratios()
	if s.workers == nil {
		return nothing("No lock was acquired on %s and on another machine with the same number of workers, so there is no ratio.", x.machines[0].Name)
	}
	w := s.crowd()
	f := newForest(s, w)
	return picture{answer: x.ratioAnswer(s, w), height: f.height(), numbers: x.ratioTable(s), body: func(c draw.Canvas) error {
		f.draw(c)
		return nil
	}}
}

// ratioAnswer says of each machine how many locks are faster and slower there.
func (x *match) ratioAnswer(s *sweep, w int) string {
	first := x.machines[0].Name
	var parts []string
	for i := 1; i < len(x.machines); i++ {
		es := s.effects(i, w)
		if len(es) == 0 {
			continue
		}
		faster, slower, enough := 0, 0, false
		logs := make([]float64, len(es))
		for k, e := range es {
			logs[k] = e.Median
			enough = enough || e.Enough()
			if e.Greater() {
				faster++
			} else if e.Less() {
				slower++
			}
		}
		middle := stat.Summarize(logs).Median
		text := fmt.Sprintf("on %s a lock in the middle has %s", x.machines[i].Name, ofRate(middle))
		if !enough {
			text += fmt.Sprintf(" (but n = %d: to tell a difference from chance needs %s on each machine)", es[0].N, numfmt.Plural(stat.MinUnpaired(es[0].Level), "round"))
		} else {
			text += fmt.Sprintf(" (of %s, %d faster there beyond doubt, %d slower)", numfmt.Plural(len(es), "lock"), faster, slower)
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return "With " + numfmt.Plural(w, "worker") + " no two machines share a lock."
	}
	return fmt.Sprintf("With %s, against %s: %s.", numfmt.Plural(w, "worker"), first, strings.Join(parts, "; "))
}

// ratioTable lists every ratio.
func (x *match) ratioTable(s *sweep) table {
	unit := "per second"
	if x.remote {
		unit = "per second (contended: hand-overs)"
	}
	t := table{head: []string{"lock", "workers", "machine", unit, "× " + x.machines[0].Name, "interval", "apart from 1"}}
	for _, w := range s.workers {
		for _, base := range x.groups[0].at(w) {
			rate := base.Cells[w].Summary(s.metric(w))
			t.rows = append(t.rows, []string{base.Lock.Name, strconv.Itoa(w), x.machines[0].Name, numfmt.SI(rate.Median), "1", unknown, unknown})
			for i := 1; i < len(x.machines); i++ {
				k := slices.IndexFunc(s.effects(i, w), func(e effect) bool { return e.s == base })
				if k < 0 {
					continue
				}
				e := s.effects(i, w)[k]
				verdict := "no"
				if e.apart() {
					verdict = "yes"
				} else if !e.Enough() {
					verdict = fmt.Sprintf("n = %d", e.N)
				}
				t.rows = append(t.rows, []string{base.Lock.Name, strconv.Itoa(w), x.machines[i].Name, numfmt.SI(e.rate.Median), numfmt.Number(e.Median), ratios(e.Lo, e.Hi), verdict})
			}
		}
	}
	return t
}

// draft draws what x compares; only the ratios and the rates if it is folded.
func (x *match) draft(id string, folded bool) (section, error) {
	s := section{ID: "machines-" + id, Title: kind(x.remote) + ", " + x.axes, Slug: slugOf(x.axes), Folded: folded}
	suffix := map[bool]string{false: "", true: "-distributed"}[x.remote]
	add := func(name, title, doc string, pic picture) error {
		f := figure{Name: name + suffix, pic: pic, ID: name + "-" + id, Title: title, Answer: pic.answer, Doc: doc, Head: pic.numbers.head, Rows: pic.numbers.rows}
		if n := len(f.Rows); n > mostTableRows {
			f.Rows, f.Omitted = f.Rows[:mostTableRows], omission(n)
		}
		if pic.height > 0 {
			svg, err := inline(pic, f.ID, title, pic.answer)
			if err != nil {
				return fmt.Errorf("chart %s: %w", name, err)
			}
			f.SVG = template.HTML(svg)
		}
		s.Figures = append(s.Figures, f)
		return nil
	}
	if err := add("machines-ratio", "How fast is each machine, lock by lock?", ratioDoc, x.drawRatios()); err != nil {
		return s, err
	}
	for i, o := range overlays {
		if folded && i > 0 {
			break
		}
		if err := add(o.name, o.title, overlayDoc, o.draw(x)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// cases returns how many cases of x two machines share.
func (x *match) cases() (n int) {
	for _, g := range x.groups {
		n += g.Cases
	}
	return n
}

// largestMatch returns the index of the match of one kind with the most cases,
// or -1.
func largestMatch(xs []*match, remote bool) int {
	best := -1
	for i, x := range xs {
		if x.remote == remote && (best < 0 || cmp.Compare(x.cases(), xs[best].cases()) > 0) {
			best = i
		}
	}
	return best
}
