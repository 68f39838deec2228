package page

import (
	"time"

	"locklab/harness/judge"
)

// jsonChanges is a comparison of runs as JSON.
type jsonChanges struct {
	Outcome     judge.GateOutcome `json:"outcome,omitempty"` // not of the locks of one run
	To          []string          `json:"to,omitempty"`
	Paired      bool              `json:"paired"`
	Alpha       float64           `json:"alpha"`
	Margin      float64           `json:"margin"`
	Comparisons int               `json:"comparisons"`
	LeastRuns   int               `json:"least_runs,omitempty"` // of a change in a history
	Machines    []jsonMachine     `json:"machines"`
	Gaps        []string          `json:"gaps"`
	Warnings    []string          `json:"warnings"`
	Tables      []judge.Table     `json:"tables"`
}

// A jsonMachine is a machine with its runs.
type jsonMachine struct {
	Name    string    `json:"name"`
	Machine string    `json:"machine"`
	Runs    []jsonRun `json:"runs"`
}

// A jsonRun is a run of a comparison.
type jsonRun struct {
	Name    string    `json:"name"`
	Commit  string    `json:"commit"`
	Started time.Time `json:"started"`
	Dir     string    `json:"dir"`
	Differs []string  `json:"differs"`
	Same    bool      `json:"same_build"`
}

func comparisonData(c *judge.Comparison, ts []judge.Table) jsonChanges {
	j := jsonChanges{Outcome: c.Outcome(), Paired: c.Paired, Alpha: c.Alpha, Margin: c.Margin, Comparisons: c.Tests,
		Machines: jsonMachines(c.Sites()), Gaps: append([]string{}, c.Gaps...), Warnings: append([]string{}, c.Warnings...), Tables: append([]judge.Table{}, ts...)}
	if c.To != "" {
		j.Outcome, j.To = "", []string{c.To}
	}
	return j
}

func historyData(h *judge.History, ts []judge.Table) jsonChanges {
	return jsonChanges{Outcome: h.Outcome(), To: h.To, Alpha: h.Alpha, Margin: h.Margin, Comparisons: h.Tests, LeastRuns: h.Few,
		Machines: jsonMachines(h.Sites), Gaps: []string{}, Warnings: append([]string{}, h.Warnings...), Tables: ts}
}

func jsonMachines(sites []judge.Site) (out []jsonMachine) {
	for _, s := range sites {
		m := jsonMachine{Name: s.Name, Machine: s.Runs[0].Manifest.Machine.String()}
		for _, v := range s.Runs {
			m.Runs = append(m.Runs, jsonRun{v.Name, v.Manifest.Commit, v.Manifest.Started, v.Dir, append([]string{}, v.Differs...), v.SameCode})
		}
		out = append(out, m)
	}
	return out
}
