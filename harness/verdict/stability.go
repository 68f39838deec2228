package verdict

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/internal/numfmt"
)

// An Agreement is in how many runs, of so many, a decision is the same.
type Agreement struct {
	Same int // decide as the run does
	None int // come to no verdict
	Of   int // 0 where it was not asked
}

// Share returns the part of the runs that decide alike, from 0 to 1.
func (a Agreement) Share() float64 { return float64(a.Same) / float64(max(1, a.Of)) }

// Unsaid returns the part of the runs that come to no verdict, from 0 to 1.
func (a Agreement) Unsaid() float64 { return float64(a.None) / float64(max(1, a.Of)) }

// String says how many agree, in words; "" where it was not asked.
func (a Agreement) String() string {
	if a.Of == 0 {
		return ""
	}
	return fmt.Sprintf("the same in %s of %d resampled runs", share(a.Share()), a.Of)
}

// share formats a share as a whole percentage that is 100 only where it is.
func share(x float64) string {
	percent := math.Round(100 * x)
	if percent == 100 && x < 1 {
		percent = 99
	}
	return fmt.Sprintf("%.0f%s%%", percent, numfmt.Space)
}

// Agreed says how many resampled runs choose the same lock; "" where it was not asked, and
// of an only candidate that all choose: no figure could choose another.
func (v Verdict) Agreed() string {
	if a := v.Agreement; v.Grade == Only && a.Same == a.Of {
		return ""
	}
	return v.Agreement.String()
}

// agreed adds to v's reason how many resampled runs agree.
func (v *Verdict) agreed() {
	switch a := v.Agreement; {
	case v.Agreed() == "":
	case v.Use == "":
		v.Why += fmt.Sprintf(". None either in %s of %d resampled runs", share(a.Unsaid()), a.Of)
	case a.None > 0:
		v.Why += fmt.Sprintf("; %s, no verdict in %s", v.Agreed(), share(a.Unsaid()))
	default:
		v.Why += "; " + v.Agreed()
	}
}

// add counts one more run, which decides so.
func (a *Agreement) add(same, none bool) {
	a.Of++
	if same {
		a.Same++
	}
	if none {
		a.None++
	}
}

// A Stability is how often resampled runs say the same first sentence about locks
// inside one process and about locks kept by servers. It is zero for a kind that was
// not judged.
type Stability struct{ Local, Remote Agreement }

// String says that in a sentence; "" where nothing was judged.
func (s Stability) String() string {
	switch {
	case s.Local.Of == 0 && s.Remote.Of == 0:
		return ""
	case s.Remote.Of == 0:
		return fmt.Sprintf("How stable that is: the sentence is %v.", s.Local)
	case s.Local.Of == 0:
		return fmt.Sprintf("How stable that is: the sentence is %v.", s.Remote)
	}
	return fmt.Sprintf("How stable that is: the sentence on locks inside one process is %v, that on locks between processes in %s.", s.Local, share(s.Remote.Share()))
}

// resamples is from how many runs the Agreement of so many situations comes: 200 of
// usual ones. A share of 90 % is then known to within 4 points.
func resamples(situations int) int {
	const usual, least, most = 200, 20, 1500 // most is of all situations together: half a second
	return max(least, min(usual, most/max(1, situations)))
}

// Weigh is [JudgeAll], and sets the Agreement of each verdict: in how many resampled
// runs the same lock is chosen. A resampled run has as many rounds as the run, each
// drawn from its rounds at random, with replacement: a round is drawn with all its
// cases, so that what disturbed it disturbs all of them there too. say is what a page
// says first of verdicts of one kind; nil is nothing.
//
// That is what can be known of another run from this one: how much hangs on which
// rounds it happened to have. It does not see what all rounds have in common, such as
// another day.
func Weigh(ss []Situation, say func([]Verdict) string) ([]Verdict, Stability) {
	return weigh(ss, resamples(len(ss)), say)
}

func weigh(ss []Situation, n int, say func([]Verdict) string) ([]Verdict, Stability) {
	vs := JudgeAll(ss)
	var stable Stability
	for draw := range draws(roundsOf(ss), n) {
		again := make([]Verdict, len(ss))
		for i, s := range ss {
			again[i] = Judge(s.resampled(draw))
			vs[i].Agreement.add(again[i].Use == vs[i].Use, again[i].Use == "")
		}
		if say != nil {
			stable.add(vs, again, say)
		}
	}
	for i := range vs {
		vs[i].agreed()
	}
	return vs, stable
}

// add counts whether again is summed up as vs is.
func (s *Stability) add(vs, again []Verdict, say func([]Verdict) string) {
	for _, kind := range []struct {
		remote bool
		a      *Agreement
	}{{false, &s.Local}, {true, &s.Remote}} {
		then, now := ofKind(vs, kind.remote), ofKind(again, kind.remote)
		if len(then) > 0 {
			none := !slices.ContainsFunc(now, func(v Verdict) bool { return v.Use != "" })
			kind.a.add(say(then) == say(now), none)
		}
	}
}

// ofKind returns those of vs that are on locks kept by servers, or the others.
func ofKind(vs []Verdict, remote bool) []Verdict {
	return slices.DeleteFunc(slices.Clone(vs), func(v Verdict) bool { return v.Remote() != remote })
}

// draws yields n times as many of rounds as there are, drawn at random. They are the
// same for the same number of rounds.
func draws(rounds []int, n int) iter.Seq[[]int] {
	rng := rand.New(rand.NewPCG(0x5ab1e, uint64(len(rounds))))
	return func(yield func([]int) bool) {
		for range n {
			draw := make([]int, len(rounds))
			for i := range draw {
				draw[i] = rounds[rng.IntN(len(rounds))]
			}
			if !yield(draw) {
				return
			}
		}
	}
}

// roundsOf returns the numbers of the rounds that ss have results of, ascending.
func roundsOf(ss []Situation) []int {
	seen := make(map[int]bool)
	for _, s := range ss {
		for _, x := range s.g.At(s.workers) {
			for i := range x.Cells[s.workers].Rounds {
				seen[i] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// resampled returns s as it would be of a run whose rounds are these of its run, in
// that order, with no other number of workers. It is terse.
func (s Situation) resampled(draw []int) Situation {
	g := *s.g
	g.Workers, g.Series = []int{s.workers}, nil
	for _, x := range s.g.At(s.workers) {
		of := x.Cells[s.workers]
		if of.known == nil {
			of.known = make(map[readingOf]metric.Reading)
		}
		c := &Cell{Rounds: make(map[int]*harness.Result, len(draw)), known: of.known}
		for i, round := range draw {
			if r := of.Rounds[round]; r != nil {
				c.Rounds[i] = r
			}
		}
		g.Series = append(g.Series, &Series{Lock: x.Lock, Cells: map[int]*Cell{s.workers: c}})
	}
	s.g, s.terse = &g, true
	return s
}
