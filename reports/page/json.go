package page

import (
	_ "embed"
	"encoding/json"
	"io"

	"locklab/harness/judge"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// JSONSchema describes the output of [WriteJSON], in JSON Schema, draft 2020-12.
//
//go:embed report.schema.json
var JSONSchema []byte

// jsonReport is the output of [WriteJSON].
type jsonReport struct {
	Schema     int               `json:"schema"`
	Headline   string            `json:"headline"`
	Quality    judge.Quality     `json:"quality"`
	Answers    []jsonAnswer      `json:"answers"`
	Tables     []judge.Table     `json:"tables"`
	Guarantees []jsonGuarantee   `json:"guarantees"`
	Excluded   []excluded        `json:"excluded"`
	Warnings   []machine.Warning `json:"warnings"`
	Power      judge.Power       `json:"power"`
	Skipped    []result.Skip     `json:"skipped"`
}

// jsonAnswer is a decision with its reason in words.
type jsonAnswer struct {
	judge.Decision
	Class     *jsonClass `json:"class"` // of a distributed lock
	Why       string     `json:"why"`
	Tolerates string     `json:"tolerates"` // the class in words

	Missed []string `json:"missed"` // aims in failure scenarios
}

type jsonClass struct {
	Strength result.Strength    `json:"strength"`
	Held     []result.Guarantee `json:"held"`
}

// jsonGuarantee is the state of a guarantee of a distributed lock.
type jsonGuarantee struct {
	Lock      string                `json:"lock"`
	Guarantee result.Guarantee      `json:"guarantee"`
	State     result.GuaranteeState `json:"state"`
	Scenarios []string              `json:"scenarios"`
	Anomalies []oracle.Anomaly      `json:"harms"`

	// As in [result.GuaranteeStatus]: of one scenario.
	Scenario        string  `json:"scenario"`
	Failed          int     `json:"failed"`
	Tries           int     `json:"tries"`
	PublishedFailed int     `json:"published_failed"` // of Failed
	Published       int     `json:"published"`        // of Tries
	Bound           float64 `json:"bound"`
}

// WriteJSON writes the report of run as JSON, without charts; [JSONSchema] describes it.
func WriteJSON(w io.Writer, run *result.Run) error {
	ds := judge.Decisions(run)
	q := assess(run, ds)
	out := jsonReport{Schema: 1, Headline: numfmt.Plain(plainText(q.headline(ds))), Quality: q.Quality, Answers: []jsonAnswer{},
		Tables: append([]judge.Table{}, judge.Tables(run, run.Baseline)...), Guarantees: []jsonGuarantee{},
		Excluded: append([]excluded{}, exclusions(run)...), Warnings: []machine.Warning{}, Skipped: append([]result.Skip{}, run.Manifest.Skipped...)}
	out.Power = judge.PowerOf(out.Tables)
	for _, d := range ds {
		a := jsonAnswer{Decision: d, Why: numfmt.Plain(chart.Why(d)), Missed: []string{}}
		if d.Class != nil {
			a.Class, a.Tolerates = &jsonClass{d.Class.Strength, []result.Guarantee{}}, d.Class.Sentence
			for _, g := range result.Guarantees {
				if d.Class.Lacks(g) == "" {
					a.Class.Held = append(a.Class.Held, g)
				}
			}
			for _, m := range d.Class.Missed {
				a.Missed = append(a.Missed, numfmt.Plain(aimText(m)))
			}
		}
		out.Answers = append(out.Answers, a)
	}
	for _, x := range q.Warnings {
		out.Warnings = append(out.Warnings, x.Warning)
	}
	for _, lock := range chart.Distinct(run.Faults, func(f *result.FaultResult) string { return f.Lock.Name }) {
		class := result.ClassOf(run.Faults, lock)
		for _, g := range result.Guarantees {
			s := class.Guarantees[g]
			out.Guarantees = append(out.Guarantees, jsonGuarantee{lock, g, s.State, append([]string{}, s.Scenarios...), append([]oracle.Anomaly{}, s.Anomalies...),
				s.Scenario, s.Published.Failed + s.Here.Failed, s.Tries(), s.Published.Failed, s.Published.Tries, s.Bound})
		}
	}
	return encodeJSON(w, out)
}

func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return named(enc.Encode(v), "JSON")
}
