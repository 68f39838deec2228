package measure

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// TestGivesUp: a run in which all processes are killed ends early.
func TestGivesUp(t *testing.T) {
	told := 0
	err := plan(100, lethalLockNamed("kill-always")).Run(t.Context(), func(at Progress) error {
		if at.Lost != nil {
			told++
		}
		return nil
	})
	if !errors.Is(err, ErrGaveUp) || told != maxLost || !strings.Contains(err.Error(), "signal: killed") || errors.Is(err, harness.ErrUsage) {
		t.Errorf("after %d lost cases: %v", told, err)
	}
}

func TestDone(t *testing.T) {
	p := plan(3, good, single)
	p.Done = func(c Case, round int) bool { return round == 0 || round == 1 && c.Lock == single }
	seen := result.Each(measurePlan(t, p), func(at Progress) string {
		return fmt.Sprintf("%d %s %d/%d", at.Round, at.Case.Lock.Name, at.Done, at.Total)
	})
	slices.Sort(seen[1:])
	if len(seen) != 3 || seen[0] != "1 good 4/6" || !strings.HasPrefix(seen[1], "2 good") || !strings.HasPrefix(seen[2], "2 single") {
		t.Errorf("measured %q", seen)
	}
}

// simulateRun returns the progress at the end of p, whose cases take slowdown times their estimates,
// and the least and the greatest total time that it stated after a round.
func simulateRun(p *Plan, slowdown func(round int) float64) (r *progress, least, most time.Duration) {
	now := time.Unix(0, 0)
	r = p.progress(now, []Build{{}})
	least = math.MaxInt64
	for round := 0; round < r.rounds; round++ {
		for _, u := range p.units() {
			for _, c := range u {
				if p.due(c, round) {
					e := p.estimate(c, len(u), round)
					now = now.Add(time.Duration(slowdown(round) * float64(e)))
					r.add(e, 0, nil)
				}
			}
		}
		r.replan(round+1, now)
		total := now.Sub(r.begin) + r.left(now)
		least, most = min(least, total), max(most, total)
	}
	return r, least, most
}

func always(slowdown float64) func(int) float64 { return func(int) float64 { return slowdown } }

func TestReplan(t *testing.T) {
	for _, c := range []struct {
		slowdown float64 // relative to the estimate
		want     int     // rounds
	}{{1, 20}, {2, 10}, {0.5, 30}, {10, 6}} {
		p := plan(20, good, single)
		p.Budget, p.Least, p.Most = p.Estimate(), 6, 30
		r, _, _ := simulateRun(p, always(c.slowdown))
		if r.rounds != c.want || r.done != r.total || r.total != 2*c.want || r.ahead != 0 {
			t.Errorf("at a slowdown of %v: %d rounds, %d of %d cases, %v ahead; want %d rounds", c.slowdown, r.rounds, r.done, r.total, r.ahead, c.want)
		}
		if spare := r.plan.Race.spare; spare && c.slowdown == 10 || !spare && c.slowdown == 0.5 {
			t.Errorf("at a slowdown of %v: time for noisy cases is %v", c.slowdown, spare)
		}
	}
}

// TestReplanAfterSlowRound: a slow or quick first round changes the total by a tenth at most.
func TestReplanAfterSlowRound(t *testing.T) {
	for _, first := range []float64{0.3, 3} {
		p := plan(20, good, single)
		p.Budget, p.Least, p.Most = p.Estimate(), 6, 30
		r, least, most := simulateRun(p, func(round int) float64 {
			if round == 0 {
				return first
			}
			return 1
		})
		if least < p.Budget*9/10 || most > p.Budget*11/10 {
			t.Errorf("with a first round of %v times its estimate: %d rounds, in %v to %v; want %v", first, r.rounds, least, most, p.Budget)
		}
	}
}

// TestLeft: if the first tenth of a run is slow, the time of the whole grows by a fifth at most.
// If all of it is slow, the time left is right within a fifth at the end.
func TestLeft(t *testing.T) {
	p := plan(100, good)
	each, begin := p.estimate(p.Cases[0], 1, 0), time.Unix(0, 0)
	for _, slow := range []int{10, 100} {
		r, now := p.progress(begin, []Build{{}}), begin
		whole := r.left(now)
		for i := range 100 {
			now = now.Add(each)
			if i < slow {
				now = now.Add(each)
			}
			r.add(each, 0, nil)
			left := r.left(now)
			if got := now.Add(left).Sub(begin); slow == 10 && got > whole*6/5 {
				t.Errorf("after %d cases, of which the first %d take twice their estimate: %v in all, %v at first", i+1, slow, got, whole)
			}
			if want := 2 * each * time.Duration(99-i); slow == 100 && i > 75 && (left < want*4/5 || left > want*6/5) {
				t.Errorf("after %d cases that take twice their estimate: %v left, want %v", i+1, left, want)
			}
		}
	}
}

// TestOpenEvery: open loops are in one round of Every.Open. The plan's count, estimate and
// measurement agree with that, and so does the number of rounds in a budget.
func TestOpenEvery(t *testing.T) {
	p := plan(7, good, single)
	p.Cases[1].Workload.Rate, p.Cases[1].Workload.Window = 1e4, 4*time.Millisecond
	p.Every.Open = 3
	in := make(map[string][]int)
	for i, at := range measurePlan(t, p) {
		in[at.Case.Lock.Name] = append(in[at.Case.Lock.Name], at.Round)
		if at.Done != i+1 || at.Total != 10 {
			t.Errorf("%v: %d of %d", in, at.Done, at.Total)
		}
	}
	if len(in["good"]) != 7 || !slices.Equal(in["single"], []int{0, 3, 6}) {
		t.Errorf("measured in %v", in)
	}
	each, open := p.estimate(p.Cases[0], 1, 0), p.estimate(p.Cases[1], 1, 0)
	if got, want := p.Estimate(), 7*each+3*open; got != want || p.Total() != 10 {
		t.Errorf("%d measurements take %v, want 10 and %v", p.Total(), got, want)
	}
	p.Rounds, p.Least, p.Most = 20, 2, 60
	p.Budget = 12*each + 4*open
	if r, _, _ := simulateRun(p, always(1)); r.rounds != 12 || r.total != 16 || r.done != 16 || r.ahead != 0 {
		t.Errorf("%d rounds, %d of %d measured, %v ahead; want 12 rounds of 16 measurements", r.rounds, r.done, r.total, r.ahead)
	}
}
