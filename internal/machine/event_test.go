package machine

import (
	"slices"
	"testing"
)

// TestCountersAlwaysAnswer: each event has a value or a reason, and no value after Close.
func TestCountersAlwaysAnswer(t *testing.T) {
	c := OpenCounters()
	open := c.Read()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, counts := range [][]Count{open, c.Read()} {
		var names []string
		for _, n := range counts {
			names = append(names, n.Event)
		}
		if !slices.Equal(names, EventNames()) {
			t.Errorf("counted %q", names)
		}
	}
	for _, n := range c.Read() {
		if _, ok := n.Value(); ok || n.Reason == "" {
			t.Errorf("closed, and %+v", n)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestCountValue(t *testing.T) {
	for _, tc := range []struct {
		count Count
		want  float64
		ok    bool
	}{
		{Count{Raw: 100, Enabled: 10, Running: 10}, 100, true},
		{Count{Raw: 100, Enabled: 40, Running: 10}, 400, true},
		{Count{Raw: 0, Enabled: 10, Running: 10}, 0, true},
		{Count{Raw: 100, Enabled: 10}, 0, false},
		{Count{Raw: 100, Enabled: 10, Running: 10, Reason: "because"}, 0, false},
		{Count{}, 0, false},
		{Count{Raw: 150, Enabled: 50, Running: 20}.Sub(Count{Raw: 100, Enabled: 10, Running: 10}), 200, true},
	} {
		if got, ok := tc.count.Value(); got != tc.want || ok != tc.ok {
			t.Errorf("%+v: %v, %v; want %v, %v", tc.count, got, ok, tc.want, tc.ok)
		}
	}
}
