package chaos_test

import (
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/chaos"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	one := func(name string, alone bool) *chaos.Scenario {
		return &chaos.Scenario{Name: name, Locks: ".*", Alone: alone, Deadline: time.Minute, Takes: 10, Tries: 7}
	}
	away := *specimens[2]
	away.Unavailable = "not installed"
	p := chaos.Plan{
		Scenarios: []*chaos.Scenario{one("together", false), one("alone", true)},
		Locks:     []*harness.Variant{specimens[0], specimens[1], &away}, Tries: 5,
	}
	for _, c := range []struct {
		name  string
		done  func(scenario, lock string) (count, all int)
		share func(p *chaos.Plan)
		tries int
		d     time.Duration
	}{
		{"anew", nil, nil, 15, 150 * time.Second},
		{"two are done", func(s, lock string) (int, int) { return 2, 4 }, nil, 9, 90 * time.Second},
		{"two of one lock are done", func(s, lock string) (int, int) {
			if lock == "free" {
				return 2, 2
			}
			return 0, 0
		}, nil, 13, 130 * time.Second},
		{"more than asked for are done", func(s, lock string) (int, int) { return 9, 9 }, nil, 0, 0},
		{"as many as a scenario has", nil, func(p *chaos.Plan) { p.Tries = 0 }, 21, 210 * time.Second},
		{"two at a time", nil, func(p *chaos.Plan) { p.Parallel = 2 }, 15, 75 * time.Second},
		{"no longer than the budget", nil, func(p *chaos.Plan) { p.Budget = time.Minute }, 15, time.Minute},
	} {
		q := p
		q.Done = c.done
		if c.share != nil {
			c.share(&q)
		}
		if tries, d := q.Estimate(); tries != c.tries || d != c.d {
			t.Errorf("%s: %d tries in %v, want %d in %v", c.name, tries, d, c.tries, c.d)
		}
	}
}
