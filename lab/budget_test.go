package lab

import (
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/internal/stat"
)

// TestFit tries budgets from too small to too large. Rounds and windows must reach their
// limits in order.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		name     string
		o        runOptions
		budget   time.Duration
		fewest   int // rounds
		most     int
		shortest time.Duration // windows
		longest  time.Duration
		short    bool // the budget is too small
		over     bool // the budget cannot be used up
	}{
		{name: "nothing", budget: time.Second, fewest: stat.MinRounds, most: stat.MinRounds, shortest: minWindow, longest: minWindow, short: true},
		{name: "fewest rounds", budget: 5 * time.Second, fewest: stat.MinRounds, most: defaultRounds, shortest: minWindow, longest: 40 * time.Millisecond},
		{name: "shorter windows", budget: 12 * time.Second, fewest: 8, most: 8, shortest: minWindow, longest: defaultWindow},
		{name: "as they are", budget: 25 * time.Second, fewest: 13, most: 17, shortest: 90 * time.Millisecond, longest: 120 * time.Millisecond},
		{name: "more rounds", budget: time.Minute, fewest: 30, most: 40, shortest: fairWindow, longest: 120 * time.Millisecond},
		{name: "longer windows", budget: 5 * time.Minute, fewest: maxRounds, most: maxRounds, shortest: 300 * time.Millisecond, longest: maxWindow},
		{name: "too much", budget: 24 * time.Hour, fewest: maxRounds, most: maxRounds, shortest: maxWindow, longest: maxWindow, over: true},
		{name: "rounds given", o: optionsOf(t, "--locks=mcs --rounds=5"), budget: time.Minute, fewest: 5, most: 5, shortest: defaultWindow, longest: maxWindow},
		{name: "rounds given, too many", o: optionsOf(t, "--locks=mcs --rounds=1000"), budget: time.Minute, fewest: 1000, most: 1000, shortest: minWindow, longest: minWindow, short: true},
		{name: "windows given", o: optionsOf(t, "--locks=mcs --duration=100ms"), budget: time.Minute, fewest: 30, most: 40, shortest: 100 * time.Millisecond, longest: 100 * time.Millisecond},
		{name: "windows given, too long", o: optionsOf(t, "--locks=mcs --duration=10s"), budget: time.Minute, fewest: stat.MinRounds, most: stat.MinRounds, shortest: 10 * time.Second, longest: 10 * time.Second, short: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := new(measure.Plan)
			for i := range 10 {
				p.Cases = append(p.Cases, measure.Case{Lock: &harness.Variant{Name: "x", Family: harness.Spin}, Workload: harness.Workload{Workers: 1 + i}})
			}
			err := c.o.fit(p, c.budget)
			if errors.Is(err, harness.ErrUsage) != c.short {
				t.Fatalf("got %v", err)
			}
			if w := c.o.baseOf(p); p.Rounds < c.fewest || p.Rounds > c.most || w < c.shortest || w > c.longest {
				t.Errorf("%d rounds of %v, want %d to %d of %v to %v", p.Rounds, w, c.fewest, c.most, c.shortest, c.longest)
			}
			if e := p.Estimate(); !c.short && !c.over && (e < c.budget*9/10 || e > c.budget*21/20) {
				t.Errorf("a budget of %v gives a run of %v", c.budget, e)
			}
			if bounded := p.Budget > 0; bounded == (c.o.rounds > 0) || bounded && (p.Least != stat.MinRounds || p.Most < p.Rounds) {
				t.Errorf("the run itself may take %v in %d to %d rounds", p.Budget, p.Least, p.Most)
			}
		})
	}
	both := optionsOf(t, "--locks=mcs --rounds=5 --duration=1s")
	if err := both.fit(new(measure.Plan), time.Minute); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("rounds, windows and a budget: %v, want a usage error", err)
	}
}
