package judge

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

var historyColumns = []string{
	"machine", "run", "started", "commit", "lock", "workload", "metric", "unit", "better",
	"median", "lo", "hi", "rounds", "ratio", "ratio_lo", "ratio_hi", "confidence", "p", "to_before", "change", "off", "verdict", "note",
}

// WriteCSV writes h as comma-separated values, one line per case and run, in the form of
// [Comparison.WriteCSV].
func (h *History) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	w.Write(historyColumns) // Error reports it
	for _, s := range h.Series {
		for i, p := range s.Points {
			v, m := h.Sites[s.Site].Runs[i], s.Gate.Metric
			change := ""
			if c := s.changeAt(i); c != nil {
				change = string(c.Verdict)
			}
			line := []string{
				h.Sites[s.Site].Name, strconv.Itoa(i + 1), v.Manifest.Started.UTC().Format(time.RFC3339), v.Manifest.Commit, s.Lock.Name, s.Workload.Name(), m.Name, m.Unit, m.Better,
				cell(p.Median, p.N), cell(p.Lo, p.N), cell(p.Hi, p.N), strconv.Itoa(p.N),
				cell(p.Before.Median, p.Before.N), cell(p.Before.Lo, p.Before.N), cell(p.Before.Hi, p.Before.N), cell(p.Before.Confidence, p.Before.N), cell(p.P, p.Before.N),
				string(p.Verdict), change, string(p.Off), string(s.Verdict), p.Gap,
			}
			for k := range line {
				line[k] = harmless(line[k])
			}
			w.Write(line) // likewise
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

func (s *HistorySeries) changeAt(i int) *Change {
	for k := range s.Changes {
		if s.Changes[k].At == i {
			return &s.Changes[k]
		}
	}
	return nil
}

type (
	jsonHistory struct {
		Outcome  GateOutcome  `json:"outcome"`
		Alpha    float64      `json:"alpha"`
		Margin   float64      `json:"margin"`
		Tests    int          `json:"comparisons"`
		Level    float64      `json:"level"`
		Few      int          `json:"least_runs"`
		To       []string     `json:"to,omitempty"`
		Machines []jsonSite   `json:"machines"`
		Warnings []string     `json:"warnings"`
		Cases    []jsonSeries `json:"cases"`
	}
	jsonSite struct {
		Name    string      `json:"name"`
		Machine string      `json:"machine"`
		Runs    []jsonVisit `json:"runs"`
	}
	jsonVisit struct {
		Commit  string    `json:"commit"`
		Started time.Time `json:"started"`
		Dir     string    `json:"dir"`
		Differs []string  `json:"differs"`
		Same    bool      `json:"same_build"`
	}
	jsonSeries struct {
		Machine  string       `json:"machine"`
		Lock     string       `json:"lock"`
		Workload string       `json:"workload"`
		Metric   string       `json:"metric"`
		Unit     string       `json:"unit"`
		Better   string       `json:"better"`
		Verdict  GateVerdict  `json:"verdict"`
		Note     string       `json:"note,omitempty"`
		Changes  []jsonChange `json:"changes"`
		Points   []jsonPoint  `json:"points"`
	}
	jsonChange struct {
		Run     int         `json:"run"` // the first after it, from 1
		Old     *float64    `json:"before"`
		New     *float64    `json:"after"`
		Ratio   *jsonRate   `json:"ratio"`
		P       *float64    `json:"p"`
		Verdict GateVerdict `json:"verdict"`
	}
	jsonPoint struct {
		Run     int         `json:"run"`
		Figure  *jsonRate   `json:"figure"`
		Ratio   *jsonRate   `json:"ratio"`
		P       *float64    `json:"p"`
		Verdict GateVerdict `json:"verdict,omitempty"`
		Off     GateVerdict `json:"off,omitempty"`
		Broke   bool        `json:"violated,omitempty"`
		Gap     string      `json:"note,omitempty"`
	}
)

// WriteJSON writes h as one JSON object. A missing or infinite figure is null.
func (h *History) WriteJSON(out io.Writer) error {
	j := jsonHistory{
		Outcome: h.Outcome(), Alpha: h.Alpha, Margin: h.Margin, Tests: h.Tests, Level: h.Level, Few: h.Few, To: h.To,
		Machines: []jsonSite{}, Warnings: append([]string{}, h.Warnings...), Cases: []jsonSeries{},
	}
	for _, s := range h.Sites {
		site := jsonSite{Name: s.Name, Machine: s.Runs[0].Manifest.Machine.String()}
		for _, v := range s.Runs {
			site.Runs = append(site.Runs, jsonVisit{v.Manifest.Commit, v.Manifest.Started, v.Dir, append([]string{}, v.Differs...), v.SameCode})
		}
		j.Machines = append(j.Machines, site)
	}
	for i := range h.Series {
		j.Cases = append(j.Cases, h.Series[i].json(h.Sites[h.Series[i].Site].Name))
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(j); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

func (s *HistorySeries) json(machine string) jsonSeries {
	m := s.Gate.Metric
	j := jsonSeries{
		Machine: machine, Lock: s.Lock.Name, Workload: s.Workload.Name(), Metric: m.Name, Unit: m.Unit, Better: m.Better,
		Verdict: s.Verdict, Note: s.Note, Changes: []jsonChange{}, Points: []jsonPoint{},
	}
	for _, c := range s.Changes {
		j.Changes = append(j.Changes, jsonChange{c.At + 1, number(c.Old), number(c.New), rate(c.Ratio), number(c.P), c.Verdict})
	}
	for i, p := range s.Points {
		j.Points = append(j.Points, jsonPoint{i + 1, rate(p.Summary), rate(p.Before), number(p.P), p.Verdict, p.Off, p.Broke, p.Gap})
	}
	return j
}
