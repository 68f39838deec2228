package judge

import (
	"slices"

	"locklab/harness/result"
)

// A Tally is the number of runs with one decision.
type Tally struct {
	Choice string // "" is no recommendation
	Runs   int
}

// A Row is the decisions of several runs on a situation.
type Row struct {
	Situation, Workload string
	Workers             int
	Tallies             []Tally // most frequent first
	Runs                int     // with the situation
}

// Share returns the share of the runs with the most frequent decision.
func (r Row) Share() float64 {
	if len(r.Tallies) == 0 {
		return 0
	}
	return float64(r.Tallies[0].Runs) / float64(r.Runs)
}

// Count adds one more run.
func (r *Row) Count(choice string) {
	i := slices.IndexFunc(r.Tallies, func(t Tally) bool { return t.Choice == choice })
	if i < 0 {
		i = len(r.Tallies)
		r.Tallies = append(r.Tallies, Tally{Choice: choice})
	}
	r.Tallies[i].Runs++
	r.Runs++
	slices.SortStableFunc(r.Tallies, func(a, b Tally) int { return b.Runs - a.Runs })
}

// Across compares the decisions of several runs of the same cases: one row per situation.
// For distributed locks it takes the choice of the strongest class.
func Across(runs []*result.Run) (rows []Row) {
	for _, run := range runs {
		for _, s := range MainSituations(Groups(run)) {
			d := Decide(s)[0]
			i := slices.IndexFunc(rows, func(r Row) bool {
				return r.Situation == s.Name() && r.Workload == s.Workload() && r.Workers == s.Workers
			})
			if i < 0 {
				i = len(rows)
				rows = append(rows, Row{Situation: s.Name(), Workload: s.Workload(), Workers: s.Workers})
			}
			rows[i].Count(d.Use)
		}
	}
	return rows
}
