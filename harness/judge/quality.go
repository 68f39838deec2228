package judge

import (
	"slices"

	"locklab/harness/result"
)

// A Quality describes the reliability of the results of a run.
type Quality struct {
	Grade     Grade   `json:"grade"`
	Results   int     `json:"results"`   // behind the decisions
	Disturbed int     `json:"disturbed"` // of these, with a warning that is unusual in their situation
	Taken     float64 `json:"taken"`     // mean share of processor time that other programs and the host took, 0 to 1
	Rounds    int     `json:"rounds"`    // least number in a decision
	Planned   int     `json:"planned"`   // rounds
}

// A Grade is a degree of quality.
type Grade string

// The grades. See [QualityOf] for the rule.
const (
	Good Grade = "good"
	Fair Grade = "fair"
	Poor Grade = "poor"
)

// The limits of the grades, as shares.
const (
	fairDisturbed, poorDisturbed = 0.1, 0.5
	fairTaken, poorTaken         = 0.05, 0.25
)

// QualityOf returns the quality of run, whose decisions are ds. It is poor if more than
// half of the results are disturbed, if others took more than a quarter of the processor
// time, or if a decision has too few rounds. It is fair above a tenth and a twentieth, or
// if a decision has fewer rounds than planned. Otherwise it is good.
func QualityOf(run *result.Run, ds []Decision) Quality {
	q := Quality{Planned: run.Manifest.Rounds}
	seen := make(map[*result.Result]bool)
	few := false
	for i, d := range ds {
		few = few || d.Rule == FewRounds
		if d.Rounds > 0 && (q.Rounds == 0 || d.Rounds < q.Rounds) || i == 0 {
			q.Rounds = d.Rounds
		}
		for _, r := range d.Situation.Results() {
			if seen[r] {
				continue
			}
			seen[r] = true
			if slices.ContainsFunc(r.Warnings, d.Situation.Disturbs) {
				q.Disturbed++
			}
			if n := r.Noise; n != nil && !d.Situation.Distributed() {
				q.Taken += n.Steal + n.Others
			}
		}
	}
	q.Results = len(seen)
	if q.Results > 0 {
		q.Taken /= float64(q.Results)
	}
	disturbed := float64(q.Disturbed) / float64(max(1, q.Results))
	switch {
	case few || disturbed > poorDisturbed || q.Taken > poorTaken:
		q.Grade = Poor
	case disturbed > fairDisturbed || q.Taken > fairTaken || q.Rounds < q.Planned:
		q.Grade = Fair
	default:
		q.Grade = Good
	}
	return q
}
