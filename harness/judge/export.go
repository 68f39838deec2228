package judge

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/harness/result"
	"locklab/internal/stat"
)

var columns = []string{
	"lock", "workload", "metric", "unit", "better",
	"base", "base_lo", "base_hi", "base_rounds", "new", "new_lo", "new_hi", "new_rounds",
	"ratio", "ratio_lo", "ratio_hi", "confidence", "p", "verdict", "note",
}

// WriteCSV writes c as comma-separated values, a header line and one line per row. A
// missing figure is empty; a figure that is only a bound is the bound. Text that a
// spreadsheet would interpret as a formula begins with an apostrophe.
func (c *Comparison) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	w.Write(columns) // Error reports it
	for i := range c.Rows {
		r := &c.Rows[i]
		m := r.Gate.Metric
		line := []string{r.Lock.Name, r.Workload.Name(), m.Name, m.Unit, m.Better}
		for _, s := range []stat.Summary{r.Base, r.New} {
			line = append(line, cell(s.Median, s.N), cell(s.Lo, s.N), cell(s.Hi, s.N), strconv.Itoa(s.N))
		}
		q := r.Ratio
		line = append(line, cell(q.Median, q.N), cell(q.Lo, q.N), cell(q.Hi, q.N), cell(q.Confidence, q.N), cell(r.P, q.N), string(r.Verdict), r.Note)
		for i := range line {
			line[i] = harmless(line[i])
		}
		w.Write(line) // likewise
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

func cell(v float64, n int) string {
	if n == 0 || math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// harmless returns s in a form that no spreadsheet executes: names and notes come from a
// file. Only an infinite ratio is a figure that begins with a sign. Source: OWASP, "CSV
// Injection".
func harmless(s string) string {
	if s == "+Inf" {
		return "Inf"
	}
	if t := strings.TrimLeft(s, " \u00a0"); t != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", []rune(t)[0]) {
		return "'" + s
	}
	return s
}

type (
	jsonComparison struct {
		To       string      `json:"to,omitempty"`
		Outcome  GateOutcome `json:"outcome,omitempty"`
		Paired   bool        `json:"paired"`
		Alpha    float64     `json:"alpha"`
		Margin   float64     `json:"margin"`
		Tests    int         `json:"comparisons"`
		Level    float64     `json:"level"`
		Base     jsonRun     `json:"base"`
		New      jsonRun     `json:"new"`
		Gaps     []string    `json:"gaps"`
		Warnings []string    `json:"warnings"`
		Rows     []jsonRow   `json:"rows"`
	}
	jsonRun struct {
		Commit  string    `json:"commit"`
		Started time.Time `json:"started"`
		Machine string    `json:"machine"`
	}
	jsonRow struct {
		Lock     string      `json:"lock"`
		Workload string      `json:"workload"`
		Metric   string      `json:"metric"`
		Unit     string      `json:"unit"`
		Better   string      `json:"better"`
		Base     *jsonRate   `json:"base"`
		New      *jsonRate   `json:"new"`
		Ratio    *jsonRate   `json:"ratio"`
		P        *float64    `json:"p"`
		Verdict  GateVerdict `json:"verdict"`
		Note     string      `json:"note,omitempty"`
	}
	jsonRate struct {
		Median     *float64 `json:"median"`
		Lo         *float64 `json:"lo"`
		Hi         *float64 `json:"hi"`
		Confidence float64  `json:"confidence"`
		Rounds     int      `json:"rounds"`
		AtMost     bool     `json:"at_most,omitempty"`
	}
)

// WriteJSON writes c as one JSON object. A missing or infinite figure is null.
func (c *Comparison) WriteJSON(out io.Writer) error {
	run := func(m result.Manifest) jsonRun { return jsonRun{m.Commit, m.Started, m.Machine.String()} }
	j := jsonComparison{
		To: c.To, Outcome: c.Outcome(), Paired: c.Paired, Alpha: c.Alpha, Margin: c.Margin, Tests: c.Tests, Level: c.Level,
		Base: run(c.Base), New: run(c.New), Gaps: append([]string{}, c.Gaps...), Warnings: append([]string{}, c.Warnings...), Rows: []jsonRow{},
	}
	if c.To != "" {
		j.Outcome = ""
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		m := r.Gate.Metric
		j.Rows = append(j.Rows, jsonRow{
			Lock: r.Lock.Name, Workload: r.Workload.Name(), Metric: m.Name, Unit: m.Unit, Better: m.Better,
			Base: rate(r.Base), New: rate(r.New), Ratio: rate(r.Ratio), P: number(r.P), Verdict: r.Verdict, Note: r.Note,
		})
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(j); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}

func rate(s stat.Summary) *jsonRate {
	if s.N == 0 {
		return nil
	}
	return &jsonRate{number(s.Median), number(s.Lo), number(s.Hi), s.Confidence, s.N, s.AtMost}
}

func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
