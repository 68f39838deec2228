package result_test

import (
	"testing"

	"locklab/harness/oracle"
	"locklab/harness/result"
)

func TestHurt(t *testing.T) {
	unsafe := []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}
	part := func(told bool) *result.FaultResult {
		r := &result.FaultResult{Tries: 10, Seen: map[oracle.Anomaly]int{oracle.TwoHolders: 3, oracle.StaleWrite: 2, oracle.Stall: 5}}
		if told {
			r.Together = []result.Together{
				{Anomalies: []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, Tries: 1},
				{Anomalies: []oracle.Anomaly{oracle.TwoHolders}, Tries: 2},
				{Anomalies: []oracle.Anomaly{oracle.StaleWrite, oracle.Stall}, Tries: 1},
				{Anomalies: []oracle.Anomaly{oracle.Stall}, Tries: 4},
			}
		}
		return r
	}
	for _, c := range []struct {
		name        string
		parts       []*result.FaultResult
		least, most int
	}{
		{"told", []*result.FaultResult{part(true)}, 4, 4},
		{"told twice", []*result.FaultResult{part(true), part(true)}, 8, 8},
		{"of before", []*result.FaultResult{part(false)}, 3, 5},
		{"in part of before", []*result.FaultResult{part(false), part(true)}, 6, 10},
		{"in part of before, the other way", []*result.FaultResult{part(true), part(false)}, 6, 10},
		{"none", []*result.FaultResult{{Tries: 10}}, 0, 0},
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
