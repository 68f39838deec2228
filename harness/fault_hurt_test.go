package harness_test

import (
	"testing"

	"locklab/harness"
)

func TestHurt(t *testing.T) {
	unsafe := []harness.Harm{harness.TwoHolders, harness.StaleWrite}
	part := func(told bool) *harness.FaultResult {
		r := &harness.FaultResult{Tries: 10, Seen: map[harness.Harm]int{harness.TwoHolders: 3, harness.StaleWrite: 2, harness.Stall: 5}}
		if told {
			r.Together = []harness.Together{
				{Harms: []harness.Harm{harness.TwoHolders, harness.StaleWrite}, Tries: 1},
				{Harms: []harness.Harm{harness.TwoHolders}, Tries: 2},
				{Harms: []harness.Harm{harness.StaleWrite, harness.Stall}, Tries: 1},
				{Harms: []harness.Harm{harness.Stall}, Tries: 4},
			}
		}
		return r
	}
	for _, c := range []struct {
		name        string
		parts       []*harness.FaultResult
		least, most int
	}{
		{"told", []*harness.FaultResult{part(true)}, 4, 4},
		{"told twice", []*harness.FaultResult{part(true), part(true)}, 8, 8},
		{"of before", []*harness.FaultResult{part(false)}, 3, 5},
		{"in part of before", []*harness.FaultResult{part(false), part(true)}, 6, 10},
		{"in part of before, the other way", []*harness.FaultResult{part(true), part(false)}, 6, 10},
		{"none", []*harness.FaultResult{{Tries: 10}}, 0, 0},
	} {
		sum := c.parts[0]
		for _, p := range c.parts[1:] {
			sum.Add(p)
		}
		if least, most := sum.Hurt(unsafe); least != c.least || most != c.most {
			t.Errorf("%s: %d to %d tries with any, want %d to %d", c.name, least, most, c.least, c.most)
		}
	}
}
