package judge

import (
	"slices"

	"locklab/harness/result"
)

// A Row is the decisions of several runs on a situation.
type Row struct {
	Situation, Workload string
	Workers             int
	Choices             []string // of the runs with the situation; "" is no recommendation
}

// Tallies returns the choices in groups of equal ones, the most frequent first.
func (r Row) Tallies() [][]string {
	out := result.GroupBy(r.Choices, func(choice string) string { return choice })
	slices.SortStableFunc(out, func(a, b []string) int { return len(b) - len(a) })
	return out
}

// Across compares the decisions of several runs of the same cases: one row per situation.
// For distributed locks it takes the choice of the strongest class.
func Across(runs []*result.Run) (rows []Row) {
	for _, run := range runs {
		for _, s := range MainSituations(Groups(run)) {
			i := slices.IndexFunc(rows, func(r Row) bool {
				return r.Situation == s.Name() && r.Workload == s.Workload() && r.Workers == s.Workers
			})
			if i < 0 {
				i = len(rows)
				rows = append(rows, Row{Situation: s.Name(), Workload: s.Workload(), Workers: s.Workers})
			}
			rows[i].Choices = append(rows[i].Choices, Decide(s)[0].Use)
		}
	}
	return rows
}
