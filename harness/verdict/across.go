package verdict

import (
	"cmp"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
)

// A Tally is how many runs decide so.
type Tally struct {
	Choice string // "" is no verdict
	Runs   int
}

// A Row is a situation as several runs judge it.
type Row struct {
	Situation, Setting string
	Tallies            []Tally // the most often first
	Runs               int     // that have it

	// Predicted is the mean share of resampled runs that agree, over the runs.
	Predicted float64

	// Ahead is how many times as fast the leader is as the next lock, over the rounds of
	// all runs together; 0 if there is no other one.
	Ahead float64

	// Decided says that the leader is ahead of each by two margins, beyond chance.
	Decided bool
}

// Share returns the part of the runs that decide as most do.
func (r Row) Share() float64 {
	if len(r.Tallies) == 0 {
		return 0
	}
	return float64(r.Tallies[0].Runs) / float64(r.Runs)
}

// None returns how many runs come to no verdict.
func (r Row) None() int {
	for _, t := range r.Tallies {
		if t.Choice == "" {
			return t.Runs
		}
	}
	return 0
}

// count adds one more run.
func (r *Row) count(choice string) {
	i := slices.IndexFunc(r.Tallies, func(t Tally) bool { return t.Choice == choice })
	if i < 0 {
		i = len(r.Tallies)
		r.Tallies = append(r.Tallies, Tally{Choice: choice})
	}
	r.Tallies[i].Runs++
	r.Runs++
	slices.SortStableFunc(r.Tallies, func(a, b Tally) int { return b.Runs - a.Runs })
}

// Across sets the verdicts of several runs of the same cases beside each other: a row
// for each situation of the table of verdicts. sentences are what say makes of those of
// one kind, such as locks inside one process, with its mean predicted share.
func Across(runs []*resultfile.Run, say func([]Verdict) string) (rows, sentences []Row) {
	for _, run := range runs {
		first, _ := Standing(Groups(run))
		vs, stable := Weigh(first, say)
		for _, v := range vs {
			r := find(&rows, v.Situation, v.Setting)
			r.count(v.Use)
			r.Predicted += v.Agreement.Share()
		}
		for _, kind := range []struct {
			name   string
			remote bool
			a      Agreement
		}{{"inside one process", false, stable.Local}, {"between processes", true, stable.Remote}} {
			if mine := ofKind(vs, kind.remote); len(mine) > 0 {
				r := find(&sentences, "first sentence, "+kind.name, "")
				r.count(say(mine))
				r.Predicted += kind.a.Share()
			}
		}
	}
	for _, rs := range [][]Row{rows, sentences} {
		for i := range rs {
			rs[i].Predicted /= float64(rs[i].Runs)
		}
	}
	lead(rows, runs)
	return rows, sentences
}

// find returns the row of that name, a new one if there is none.
func find(rows *[]Row, situation, setting string) *Row {
	i := slices.IndexFunc(*rows, func(r Row) bool { return r.Situation == situation && r.Setting == setting })
	if i < 0 {
		i = len(*rows)
		*rows = append(*rows, Row{Situation: situation, Setting: setting})
	}
	return &(*rows)[i]
}

// lead sets how far the leader of each row is ahead over all runs.
func lead(rows []Row, runs []*resultfile.Run) {
	first, _ := Standing(Groups(Pooled(runs)))
	for _, v := range JudgeAll(first) {
		for i, r := range rows {
			if r.Situation == v.Situation && r.Setting == v.Setting {
				rows[i].Ahead, rows[i].Decided = v.about.ahead()
			}
		}
	}
}

// ahead returns how many times as fast the leader of s is as the next lock that may be
// used, 0 if there is none, and whether it is ahead of each by two margins beyond chance.
func (s Situation) ahead() (ratio float64, decided bool) {
	c := s.contest()
	if len(c.pool) < 2 {
		return 0, false
	}
	ratio, decided = math.Inf(1), true
	for _, x := range c.pool[1:] {
		r := c.alone(c.pool[0], x)
		ratio = min(ratio, r.Median)
		decided = decided && r.Read(2*c.margin()) == stat.Slower
	}
	return ratio, decided
}

// Pooled returns the rounds of all runs as those of one, which is otherwise the first.
func Pooled(runs []*resultfile.Run) *resultfile.Run {
	pooled := *runs[0]
	pooled.Results = nil
	offset := 0
	for _, run := range runs {
		most := 0
		for _, r := range run.Results {
			again := *r
			again.Round += offset
			again.Wait, again.Handover, again.HandoverWait = nil, nil, nil
			pooled.Results = append(pooled.Results, &again)
			most = max(most, r.Round+1)
		}
		offset += most
	}
	slices.SortStableFunc(pooled.Results, func(a, b *harness.Result) int { return cmp.Compare(a.Round, b.Round) })
	return &pooled
}
