package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A Modelled is a model's prediction for one machine and workload, without measurements.
type Modelled struct {
	Like    *result.Simulation // any of them: all share machine and workload
	workers []int              // ascending
	Locks   []*ModelledLock    // by name
	File    bool               // the run has the description of the machine
}

// A ModelledLock is a lock on that machine.
type ModelledLock struct {
	*result.Simulation // any of them
	style              draw.Style
	at                 map[int]*result.Simulation // by workers
}

// ModelledOf returns the predictions of run, by machine and workload in the order of the file.
// For each machine, the workload with the most simulations is first.
func ModelledOf(run *result.Run) (out []*Modelled) {
	n := make(map[*Modelled]int)
	for _, s := range run.Simulations {
		i := slices.IndexFunc(out, func(m *Modelled) bool { return m.Like.Simulated == s.Simulated && WorkloadOf(m.Like) == WorkloadOf(s) })
		if i < 0 {
			i = len(out)
			file := slices.ContainsFunc(run.Machines, func(m *result.ModelMachine) bool { return m.Name == s.Simulated })
			out = append(out, &Modelled{Like: s, File: file})
		}
		out[i].add(s)
		n[out[i]]++
	}
	var machines []string
	for _, m := range out {
		if !slices.Contains(machines, m.Like.Simulated) {
			machines = append(machines, m.Like.Simulated)
		}
		m.finish()
	}
	slices.SortStableFunc(out, func(a, b *Modelled) int {
		return cmp.Or(cmp.Compare(slices.Index(machines, a.Like.Simulated), slices.Index(machines, b.Like.Simulated)), cmp.Compare(n[b], n[a]))
	})
	return out
}

// WorkloadOf describes the workload of s: "lines=1 hold=100ns think=0s wait=pause".
func WorkloadOf(s *result.Simulation) string {
	text := fmt.Sprintf("lines=%d hold=%s think=%s wait=%s", s.Lines, briefly(s.Hold), briefly(s.Think), s.Wait)
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

func (m *Modelled) add(s *result.Simulation) {
	i := slices.IndexFunc(m.Locks, func(l *ModelledLock) bool { return l.Lock.Name == s.Lock.Name })
	if i < 0 {
		i = len(m.Locks)
		m.Locks = append(m.Locks, &ModelledLock{Simulation: s, style: simulated(styleOf(s.Lock)), at: make(map[int]*result.Simulation)})
	}
	m.Locks[i].at[s.Workers] = s
	if !slices.Contains(m.workers, s.Workers) {
		m.workers = append(m.workers, s.Workers)
	}
}

func (m *Modelled) finish() {
	slices.Sort(m.workers)
	slices.SortFunc(m.Locks, func(a, b *ModelledLock) int { return cmp.Compare(a.Lock.Name, b.Lock.Name) })
}

// Name returns the name of the machine: "skylake-8x32 (hypothetical)".
func (m *Modelled) Name() string {
	if m.Like.Hypothetical {
		return m.Like.Simulated + " (hypothetical)"
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
	switch {
	case m.Like.Sockets < 2 || m.Like.Spread:
		return 0
	case m.Like.Apart:
		return float64(m.Like.Clusters*m.Like.Cores) + 0.5
	}
	return float64(m.Like.Threads()/m.Like.Sockets) + 0.5
}
