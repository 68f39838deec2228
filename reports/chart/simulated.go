package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// ThisMachine is the name of the model of the machine that measured the run.
const ThisMachine = "this"

// A Modelled is a model's prediction for one machine and workload, without measurements.
type Modelled struct {
	Like    *harness.Simulation // any of them: all share machine and workload
	workers []int               // ascending
	Locks   []*ModelledLock     // by name
	File    bool                // the run has the description of the machine
	host    string              // the machine of the measured points in the same chart
}

// A ModelledLock is a lock on that machine, with its measurements by the run.
type ModelledLock struct {
	*harness.Simulation // any of them
	style               draw.Style
	at                  map[int]*harness.Simulation // by workers
	Measured            map[int]*Cell               // with the same section and times, by workers; on the machine of the run
}

// ModelledOf returns the predictions of run, by machine and workload in the order of the file.
// For each machine, the workload with the most simulations is first. gs are the groups of run.
func ModelledOf(run *result.Run, gs []*Group) (out []*Modelled) {
	n := make(map[*Modelled]int)
	for _, s := range run.Simulations {
		i := slices.IndexFunc(out, func(m *Modelled) bool { return m.Like.Simulated == s.Simulated && WorkloadOf(m.Like) == WorkloadOf(s) })
		if i < 0 {
			i = len(out)
			file := slices.ContainsFunc(run.Machines, func(m *harness.ModelMachine) bool { return Short(m.Name, MostName) == s.Simulated })
			out = append(out, &Modelled{Like: s, File: file, host: Hardware(run.Manifest.Machine)})
		}
		out[i].add(s)
		n[out[i]]++
	}
	var machines []string
	for _, m := range out {
		if !slices.Contains(machines, m.Like.Simulated) {
			machines = append(machines, m.Like.Simulated)
		}
		m.finish(gs)
	}
	slices.SortStableFunc(out, func(a, b *Modelled) int {
		return cmp.Or(cmp.Compare(slices.Index(machines, a.Like.Simulated), slices.Index(machines, b.Like.Simulated)), cmp.Compare(n[b], n[a]))
	})
	return out
}

// WorkloadOf describes the workload of s: "lines=1 hold=100ns think=0s wait=pause".
func WorkloadOf(s *harness.Simulation) string {
	text := fmt.Sprintf("lines=%d hold=%s think=%s wait=%s", s.Lines, briefly(s.Hold), briefly(s.Think), Short(s.Wait.String(), MostName))
	if s.Apart && s.SMT > 1 {
		text += " apart"
	}
	if s.Spread {
		text += " spread"
	}
	return text
}

func briefly(ns float64) string {
	if ns == 0 {
		return "0s"
	}
	return strings.ReplaceAll(numfmt.Nanos(ns), numfmt.Space, "")
}

func (m *Modelled) add(s *harness.Simulation) {
	i := slices.IndexFunc(m.Locks, func(l *ModelledLock) bool { return l.Lock.Name == s.Lock.Name })
	if i < 0 {
		i = len(m.Locks)
		m.Locks = append(m.Locks, &ModelledLock{Simulation: s, at: make(map[int]*harness.Simulation), Measured: make(map[int]*Cell)})
	}
	m.Locks[i].at[s.Workers] = s
	if !slices.Contains(m.workers, s.Workers) {
		m.workers = append(m.workers, s.Workers)
	}
}

func (m *Modelled) finish(gs []*Group) {
	slices.Sort(m.workers)
	slices.SortFunc(m.Locks, func(a, b *ModelledLock) int { return cmp.Compare(a.Lock.Name, b.Lock.Name) })
	var locks []harness.Lock
	for _, l := range m.Locks {
		locks = append(locks, l.Lock)
	}
	styles := modelStyles(locks)
	for _, l := range m.Locks {
		l.style = styles[l.Lock.Name]
		for _, g := range gs {
			if m.beside(g) {
				l.take(g)
			}
		}
	}
}

// beside reports whether g has the workload of m, for any number of workers: the same
// section and the same constant hold and think times. Pinning and wait policy may differ.
func (m *Modelled) beside(g *Group) bool {
	w := g.Load
	plain := !g.Remote && !g.Open() && w.Reads == 0 && w.Locks <= 1 && !w.Garbage && w.Ranks <= 1 && !w.Hold.Exp && w.Hold.Mix == "" && w.Think.Mix == ""
	return plain && (w.Section == harness.SectionWork || w.Section.Lines() > 0) && w.Section.Lines() == m.Like.Lines &&
		float64(w.Hold.Mean) == m.Like.Hold && float64(w.Think.Mean) == m.Like.Think && !w.Think.Exp
}

// take keeps g's cells for l up to one worker per processor, of pinned workers if possible: in
// the model each has its thread.
func (l *ModelledLock) take(g *Group) {
	for _, s := range g.Locks {
		if s.Lock.Name != l.Lock.Name {
			continue
		}
		for w, c := range s.Cells {
			if w <= g.CPUs && (l.Measured[w] == nil || g.Load.Pin == harness.PinCPU) {
				l.Measured[w] = c
			}
		}
	}
}

// Name returns the name of the machine: "skylake-8x32 (hypothetical)".
func (m *Modelled) Name() string {
	if m.Like.Hypothetical {
		return m.Like.Simulated + " (hypothetical)"
	}
	if m.Like.Simulated == ThisMachine {
		return "this machine"
	}
	return m.Like.Simulated
}

// Shape describes the structure of the machine.
func (m *Modelled) Shape() string {
	s := m.Like
	text := numfmt.Plural(s.Sockets, "socket") + " of " + numfmt.Plural(s.Clusters*s.Cores, "core")
	if s.Clusters > 1 {
		text += fmt.Sprintf(" in %d clusters", s.Clusters)
	}
	if s.SMT > 1 {
		text += fmt.Sprintf(", %d hardware threads a core", s.SMT)
	}
	return text
}

// Accuracy describes the model's error, once for all locks with the same text.
func (m *Modelled) Accuracy() string {
	var texts []string
	of := make(map[string][]string)
	for _, l := range m.Locks {
		text := numfmt.Sentence(cmp.Or(l.Accuracy, "no measurement is known that this was held against"))
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], l.Lock.Name)
	}
	if len(texts) == 1 {
		return "Accuracy: " + texts[0]
	}
	out := "Accuracy."
	for _, text := range texts {
		out += " For " + numfmt.List(of[text], 5) + ": " + text
	}
	return out
}

// Warning notes that nothing of m was measured.
func (m *Modelled) Warning() string {
	if m.Like.Hypothetical {
		return "Simulated on a hypothetical machine: no machine of this size was measured."
	}
	return "Simulated, not measured."
}

// Border returns the position on the axis where the second socket gets its first worker, or 0.
func (m *Modelled) Border() float64 {
	if m.Like.Sockets < 2 || m.Like.Spread {
		return 0
	}
	sockets := make(map[int]int)
	for _, l := range m.Locks {
		for w, s := range l.at {
			sockets[w] = m.sockets(s)
		}
	}
	i := slices.IndexFunc(m.workers, func(w int) bool { return sockets[w] > 1 })
	if i < 1 || sockets[m.workers[0]] > 1 {
		return 0
	}
	a, b := float64(m.workers[i-1]), float64(m.workers[i])
	if full := float64(m.perSocket()); full >= a && full < b {
		return full + 0.5
	}
	return math.Sqrt(a * b)
}

func (m *Modelled) perSocket() int {
	if m.Like.Apart {
		return m.Like.Clusters * m.Like.Cores
	}
	return m.Like.Threads() / m.Like.Sockets
}

func (m *Modelled) sockets(s *harness.Simulation) int {
	if s.OnSockets > 0 {
		return s.OnSockets
	}
	return min(m.Like.Sockets, (s.Workers+m.perSocket()-1)/m.perSocket())
}

// Paired reports whether threads of one core have workers before all cores have one.
func (m *Modelled) Paired() bool {
	for _, l := range m.Locks {
		for w, s := range l.at {
			if s.OnCores > 0 && s.OnCores < w && w <= m.Like.Sockets*m.Like.Clusters*m.Like.Cores {
				return true
			}
		}
	}
	return false
}

// A modelFigure is a figure of a simulation, and the metric that measures the same.
type modelFigure struct {
	field  string // of the line
	of     func(s *harness.Simulation) harness.Expected
	metric *result.Metric
	format func(v float64) string
}

var (
	ModelRate = modelFigure{"per_acquisition", func(s *harness.Simulation) harness.Expected { return s.Throughput() }, result.Throughput, numfmt.PerSecond}
	// A measured handover is the median, a simulated one the mean.
	modelHandover = modelFigure{"handover", func(s *harness.Simulation) harness.Expected { return s.Handover }, result.HandoverTime, numfmt.Nanos}
)

// At returns the figure of l with w workers as a summary; N is 0 without one.
func (f modelFigure) At(l *ModelledLock, w int) stat.Summary {
	s := l.at[w]
	if s == nil {
		return stat.Summary{}
	}
	e := f.of(s)
	if f.field == modelHandover.field && e.Median == 0 {
		return stat.Summary{} // there was none
	}
	return stat.Summary{Median: e.Median, Lo: e.Lo, Hi: e.Hi, N: s.Seeds}
}

func (f modelFigure) measured(l *ModelledLock, w int) stat.Summary {
	if l.Measured[w] == nil {
		return stat.Summary{}
	}
	return l.Measured[w].Summary(f.metric)
}

func (f modelFigure) table(m *Modelled) Table {
	head := Titles("lock", "workers", "simulated", "least of seeds", "greatest of seeds")
	if m.Any(f) {
		head = append(head, Titles("measured here", "simulated over measured")...)
	}
	t := Table{Head: head}
	for _, l := range m.Locks {
		for _, w := range m.workers {
			s := f.At(l, w)
			if s.N == 0 {
				continue
			}
			row := []string{l.Lock.Name, strconv.Itoa(w), f.format(s.Median), f.format(s.Lo), f.format(s.Hi)}
			if m.Any(f) {
				here, over := numfmt.Unknown, numfmt.Unknown
				if x := f.measured(l, w); x.N > 0 {
					here = f.format(x.Median)
					if x.Median > 0 {
						over = ratioText(s.Median / x.Median)
					}
				}
				row = append(row, here, over)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Any reports whether any figure was both simulated and measured.
func (m *Modelled) Any(f modelFigure) bool { return len(m.Errors(f)) > 0 }

// A modelError is the error of a simulated figure.
type modelError struct {
	Lock    string
	Workers int
	Ratio   float64 // simulated over measured
}

// Errors returns the errors for every lock and number of workers with both figures.
func (m *Modelled) Errors(f modelFigure) (out []modelError) {
	for _, l := range m.Locks {
		for _, w := range m.workers {
			s, x := f.At(l, w), f.measured(l, w)
			if s.N > 0 && x.N > 0 && s.Median > 0 && x.Median > 0 {
				out = append(out, modelError{l.Lock.Name, w, s.Median / x.Median})
			}
		}
	}
	return out
}

// ErrorText describes the error of simulated figures by the root mean square of the log ratio.
func (m *Modelled) ErrorText(f modelFigure) string {
	es := m.Errors(f)
	if len(es) == 0 {
		return ""
	}
	sum, worst := 0.0, es[0]
	for _, e := range es {
		sum += math.Log(e.Ratio) * math.Log(e.Ratio)
		if math.Abs(math.Log(e.Ratio)) > math.Abs(math.Log(worst.Ratio)) {
			worst = e
		}
	}
	if m.Like.Simulated != ThisMachine {
		return fmt.Sprintf("%s measured on %s beside it: another machine, so the two need not agree.", points(len(es)), cmp.Or(m.host, "the machine of the run"))
	}
	return fmt.Sprintf("%s measured beside it: the model is off by a factor of %s typically (root mean square of logarithms), most for %s with %s (simulated over measured %s).",
		points(len(es)), ratioText(math.Exp(math.Sqrt(sum/float64(len(es))))), worst.Lock, numfmt.Plural(worst.Workers, "worker"), ratioText(worst.Ratio))
}

func points(n int) string { return numfmt.Plural(n, "point") + " " + numfmt.Choose(n, "was", "were") }

func ratioText(v float64) string {
	if !(v >= 0.005 && v < 1e6) {
		return numfmt.Unknown
	}
	return fmt.Sprintf("%.2f", v)
}
