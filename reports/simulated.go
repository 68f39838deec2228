package reports

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
)

// thisMachine is the name of the model of the machine that measured the run.
const thisMachine = "this"

// A modelled is the prediction of a model for locks on one machine under one workload; none
// of it was measured.
type modelled struct {
	like    *harness.Simulation // any of them: all share machine and workload
	workers []int               // ascending
	locks   []*modelledLock     // by name
	file    bool                // the run has the description of the machine
	host    string              // the machine of the measured points in the same chart
}

// A modelledLock is a lock on that machine, with its measurements by the run.
type modelledLock struct {
	*harness.Simulation // any of them
	look                look
	at                  map[int]*harness.Simulation // by workers
	measured            map[int]*cell               // with the same section and times, by workers; on the machine of the run
}

// modelledOf returns the predictions of run, by machine and workload in the order of the
// file. For each machine, the workload with the most simulations is first. gs are the
// groups of run.
func modelledOf(run *result.Run, gs []*group) (out []*modelled) {
	n := make(map[*modelled]int)
	for _, s := range run.Simulations {
		i := slices.IndexFunc(out, func(m *modelled) bool { return m.like.Simulated == s.Simulated && workloadOf(m.like) == workloadOf(s) })
		if i < 0 {
			i = len(out)
			file := slices.ContainsFunc(run.Machines, func(m *harness.ModelMachine) bool { return short(m.Name, mostName) == s.Simulated })
			out = append(out, &modelled{like: s, file: file, host: hardware(run.Manifest.Machine)})
		}
		out[i].add(s)
		n[out[i]]++
	}
	var machines []string
	for _, m := range out {
		if !slices.Contains(machines, m.like.Simulated) {
			machines = append(machines, m.like.Simulated)
		}
		m.finish(gs)
	}
	slices.SortStableFunc(out, func(a, b *modelled) int {
		return cmp.Or(cmp.Compare(slices.Index(machines, a.like.Simulated), slices.Index(machines, b.like.Simulated)), cmp.Compare(n[b], n[a]))
	})
	return out
}

// workloadOf describes the workload of s: "lines=1 hold=100ns think=0s wait=pause".
func workloadOf(s *harness.Simulation) string {
	text := fmt.Sprintf("lines=%d hold=%s think=%s wait=%s", s.Lines, briefly(s.Hold), briefly(s.Think), short(s.Wait.String(), mostName))
	if s.Apart && s.SMT > 1 {
		text += " apart"
	}
	if s.Spread {
		text += " spread"
	}
	return text
}

// briefly formats ns as the names of cases do: "1.5us".
func briefly(ns float64) string {
	if ns == 0 {
		return "0s"
	}
	return strings.ReplaceAll(numfmt.Nanos(ns), nb, "")
}

func (m *modelled) add(s *harness.Simulation) {
	i := slices.IndexFunc(m.locks, func(l *modelledLock) bool { return l.Lock.Name == s.Lock.Name })
	if i < 0 {
		i = len(m.locks)
		m.locks = append(m.locks, &modelledLock{Simulation: s, at: make(map[int]*harness.Simulation), measured: make(map[int]*cell)})
	}
	m.locks[i].at[s.Workers] = s
	if !slices.Contains(m.workers, s.Workers) {
		m.workers = append(m.workers, s.Workers)
	}
}

// finish sorts m, and adds looks and the measurements of its locks.
func (m *modelled) finish(gs []*group) {
	slices.Sort(m.workers)
	slices.SortFunc(m.locks, func(a, b *modelledLock) int { return cmp.Compare(a.Lock.Name, b.Lock.Name) })
	var locks []harness.Lock
	for _, l := range m.locks {
		locks = append(locks, l.Lock)
	}
	looks := modelLooks(locks)
	for _, l := range m.locks {
		l.look = looks[l.Lock.Name]
		for _, g := range gs {
			if m.beside(g) {
				l.take(g)
			}
		}
	}
}

// beside reports whether g has the workload of m, for any number of workers: the same
// section and the same constant hold and think times. Pinning and wait policy may differ.
func (m *modelled) beside(g *group) bool {
	w := g.Load
	plain := !g.Remote && !g.Open() && w.Reads == 0 && w.Locks <= 1 && !w.Garbage && w.Ranks <= 1 && !w.Hold.Exp && w.Hold.Mix == "" && w.Think.Mix == ""
	return plain && (w.Section == harness.SectionWork || w.Section.Lines() > 0) && w.Section.Lines() == m.like.Lines &&
		float64(w.Hold.Mean) == m.like.Hold && float64(w.Think.Mean) == m.like.Think && !w.Think.Exp
}

// take keeps the cells of g for l with no more workers than processors. If there are two
// workloads it prefers pinned workers. They are closer to the model, in which each worker
// has its own hardware thread.
func (l *modelledLock) take(g *group) {
	for _, s := range g.series {
		if s.Lock.Name != l.Lock.Name {
			continue
		}
		for w, c := range s.Cells {
			if w <= g.CPUs && (l.measured[w] == nil || g.Load.Pin == harness.PinCPU) {
				l.measured[w] = c
			}
		}
	}
}

// name returns the name of the machine: "skylake-8x32 (hypothetical)".
func (m *modelled) name() string {
	if m.like.Hypothetical {
		return m.like.Simulated + " (hypothetical)"
	}
	if m.like.Simulated == thisMachine {
		return "this machine"
	}
	return m.like.Simulated
}

// begin returns the name for the start of a sentence: the name of a machine keeps its case.
func (m *modelled) begin() string {
	if m.like.Simulated == thisMachine && !m.like.Hypothetical {
		return "This machine"
	}
	return m.name()
}

// shape describes the structure of the machine.
func (m *modelled) shape() string {
	s := m.like
	text := numfmt.Plural(s.Sockets, "socket") + " of " + numfmt.Plural(s.Clusters*s.Cores, "core")
	if s.Clusters > 1 {
		text += fmt.Sprintf(" in %d clusters", s.Clusters)
	}
	if s.SMT > 1 {
		text += fmt.Sprintf(", %d hardware threads a core", s.SMT)
	}
	return text
}

// accuracy describes the model's error against measurements, once for all locks with the
// same text. A sentence that names a lock has "it" in its place.
func (m *modelled) accuracy() string {
	var texts []string
	of := make(map[string][]string)
	for _, l := range m.locks {
		text := cmp.Or(l.Accuracy, "no measurement is known that this was held against")
		text = numfmt.Sentence(strings.ReplaceAll(text, "like "+l.Lock.Name+" ", "like it "))
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], l.Lock.Name)
	}
	if len(texts) == 1 {
		return "Accuracy: " + texts[0]
	}
	slices.SortStableFunc(texts, func(a, b string) int { return len(of[a]) - len(of[b]) })
	out := "Accuracy."
	for i, text := range texts {
		names := numfmt.List(of[text], len(of[text]))
		if n := len(of[text]); i == len(texts)-1 && n > mostNamedAccuracy {
			names = fmt.Sprintf("the other %d locks", n)
		}
		out += " For " + names + ": " + text
	}
	return out
}

// mostNamedAccuracy limits the names of locks with the same sentence.
const mostNamedAccuracy = 4

// warning notes that nothing of m was measured.
func (m *modelled) warning() string {
	if m.like.Hypothetical {
		return "Simulated on a hypothetical machine: no machine of this size was measured."
	}
	return "Simulated, not measured."
}

// borders returns the positions on the axis where a further socket gets its first worker.
func (m *modelled) borders() (out []float64) {
	if m.like.Sockets < 2 || m.like.Spread {
		return nil
	}
	sockets := make(map[int]int)
	for _, l := range m.locks {
		for w, s := range l.at {
			sockets[w] = m.sockets(s)
		}
	}
	for i := 1; i < len(m.workers); i++ {
		a, b := m.workers[i-1], m.workers[i]
		for k := sockets[a]; k < sockets[b]; k++ {
			at := math.Sqrt(float64(a) * float64(b))
			if full := float64(k * m.perSocket()); full >= float64(a) && full < float64(b) {
				at = full + 0.5
			}
			out = append(out, at)
		}
	}
	return out
}

// perSocket returns the number of workers that fill a socket.
func (m *modelled) perSocket() int {
	if m.like.Apart {
		return m.like.Clusters * m.like.Cores
	}
	return m.like.Threads() / m.like.Sockets
}

// sockets returns the number of sockets that the workers of s use.
func (m *modelled) sockets(s *harness.Simulation) int {
	if s.OnSockets > 0 {
		return s.OnSockets
	}
	return min(m.like.Sockets, (s.Workers+m.perSocket()-1)/m.perSocket())
}

// paired reports whether threads of one core have workers before all cores have one.
func (m *modelled) paired() bool {
	for _, l := range m.locks {
		for w, s := range l.at {
			if s.OnCores > 0 && s.OnCores < w && w <= m.like.Sockets*m.like.Clusters*m.like.Cores {
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
	metric *result.Metric // nil if there is none
	format func(v float64) string
}

var (
	modelRate = modelFigure{"per_acquisition", func(s *harness.Simulation) harness.Expected { return s.Throughput() }, result.Throughput, numfmt.PerSecond}
	// A measured handover is the median, a simulated one the mean.
	modelHandover = modelFigure{"handover", func(s *harness.Simulation) harness.Expected { return s.Handover }, result.HandoverTime, numfmt.Nanos}
	modelMisses   = modelFigure{"misses", func(s *harness.Simulation) harness.Expected { return s.Misses }, nil, numfmt.Number}
	modelCopies   = modelFigure{"invalidated", func(s *harness.Simulation) harness.Expected { return s.Invalidated }, nil, numfmt.Number}
)

// at returns the figure of l with w workers as a summary; N is 0 without one.
func (f modelFigure) at(l *modelledLock, w int) stat.Summary {
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

// measured returns the measurement of l with w workers; N is 0 without one.
func (f modelFigure) measured(l *modelledLock, w int) stat.Summary {
	if f.metric == nil || l.measured[w] == nil {
		return stat.Summary{}
	}
	return l.measured[w].Summary(f.metric)
}

func (f modelFigure) table(m *modelled) table {
	head := titles("lock", "workers", "simulated", "least of seeds", "greatest of seeds")
	if m.any(f) {
		head = append(head, titles("measured here", "simulated over measured")...)
	}
	t := table{head: head}
	for _, l := range m.locks {
		for _, w := range m.workers {
			s := f.at(l, w)
			if s.N == 0 {
				continue
			}
			row := []string{l.Lock.Name, strconv.Itoa(w), f.format(s.Median), f.format(s.Lo), f.format(s.Hi)}
			if m.any(f) {
				here, over := unknown, unknown
				if x := f.measured(l, w); x.N > 0 {
					here = f.format(x.Median)
					if x.Median > 0 {
						over = ratioText(s.Median / x.Median)
					}
				}
				row = append(row, here, over)
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// any reports whether any figure was both simulated and measured.
func (m *modelled) any(f modelFigure) bool { return len(m.errors(f)) > 0 }

// A modelError is the error of a simulated figure.
type modelError struct {
	lock    string
	workers int
	ratio   float64 // simulated over measured
}

// errors returns the errors for every lock and number of workers with both figures.
func (m *modelled) errors(f modelFigure) (out []modelError) {
	for _, l := range m.locks {
		for _, w := range m.workers {
			s, x := f.at(l, w), f.measured(l, w)
			if s.N > 0 && x.N > 0 && s.Median > 0 && x.Median > 0 {
				out = append(out, modelError{l.Lock.Name, w, s.Median / x.Median})
			}
		}
	}
	return out
}

// errorText describes the error of simulated figures. The typical factor is the root mean
// square of the logarithm of the ratio, as in the validation.
func (m *modelled) errorText(f modelFigure) string {
	es := m.errors(f)
	if len(es) == 0 {
		return ""
	}
	sum, worst := 0.0, es[0]
	for _, e := range es {
		sum += math.Log(e.ratio) * math.Log(e.ratio)
		if math.Abs(math.Log(e.ratio)) > math.Abs(math.Log(worst.ratio)) {
			worst = e
		}
	}
	if m.like.Simulated != thisMachine {
		return fmt.Sprintf("%s measured on %s beside it: another machine, so the two need not agree.", points(len(es)), cmp.Or(m.host, "the machine of the run"))
	}
	return fmt.Sprintf("%s measured beside it: the model is off by a factor of %s typically (root mean square of logarithms), most for %s with %s (simulated over measured %s).",
		points(len(es)), ratioText(math.Exp(math.Sqrt(sum/float64(len(es))))), worst.lock, numfmt.Plural(worst.workers, "worker"), ratioText(worst.ratio))
}

func points(n int) string { return numfmt.Plural(n, "point") + " " + numfmt.Choose(n, "was", "were") }

// ratioText formats a ratio, which may be less than 1: "0.43".
func ratioText(v float64) string {
	if !(v >= 0.005 && v < 1e6) {
		return unknown
	}
	return fmt.Sprintf("%.2f", v)
}
