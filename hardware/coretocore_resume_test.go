package hardware

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"locklab/harness/result"
)

// TestInterruptedAndResumed checks that both runs together measure the same pairs as one
// run would, and nothing twice.
func TestInterruptedAndResumed(t *testing.T) {
	errStop := errors.New("stop")
	for _, visits := range []int{1, 300, 700, 900} {
		var kept []result.Sample
		keep := func(s result.Sample) error { kept = append(kept, s); return nil }
		first := &aMachine{perVisit: time.Millisecond, stop: func(v int) error {
			if v == visits {
				return errStop
			}
			return nil
		}}
		s := first.sweep(24, 1)
		s.keep = func(p *hopPair) error { return keepPair(p, keep) }
		if err := s.run(t.Context()); !errors.Is(err, errStop) {
			t.Fatalf("error is %v", err)
		}
		finished := make(map[[2]int]bool)
		for _, p := range s.pairs {
			if p.done {
				finished[p.cpus] = true
			}
		}
		if visits == 900 && len(finished) == 0 {
			t.Error("nothing is finished after 900 visits")
		}
		second := &aMachine{perVisit: time.Millisecond}
		again := second.sweep(24, 1)
		again.keep = s.keep
		takeEarlier(again.pairs, kept)
		if n := again.finished(); n != len(finished) {
			t.Errorf("after %d visits %d pairs were kept and %d taken up", visits, len(finished), n)
		}
		if err := again.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, cpus := range second.log {
			if finished[cpus] {
				t.Fatalf("after %d visits %v is measured again", visits, cpus)
			}
		}
		seen := make(map[string]int)
		for _, k := range kept {
			seen[k.Key]++
		}
		if len(seen) != 24*23/2+hopBoth || len(kept) != len(seen) || again.finished() != 24*23/2 {
			t.Errorf("after %d visits: %d kept, %d different", visits, len(kept), len(seen))
		}
		third := &aMachine{}
		rest := third.sweep(24, 1)
		takeEarlier(rest.pairs, kept)
		if err := rest.run(t.Context()); err != nil || len(third.log) > 0 {
			t.Errorf("with everything finished %d visits, error %v", len(third.log), err)
		}
	}
}

func TestKeepEndsTheSweep(t *testing.T) {
	m := &aMachine{}
	s := m.sweep(16, 1)
	errFull := errors.New("disk full")
	calls := 0
	s.keep = func(*hopPair) error { calls++; return errFull }
	if err := s.run(t.Context()); !errors.Is(err, errFull) || calls != 1 {
		t.Errorf("error is %v after %d calls", err, calls)
	}
}

func TestTakeEarlier(t *testing.T) {
	enough := slices.Repeat([]float64{20}, hopLeast)
	for _, test := range []struct {
		name   string
		sample result.Sample
		done   bool
	}{
		{"good", result.Sample{Experiment: "core-to-core", Key: "0-1", Values: enough}, true},
		{"other experiment", result.Sample{Experiment: "cost", Key: "0-1", Values: enough}, false},
		{"other CPUs", result.Sample{Experiment: "core-to-core", Key: "0-7", Values: enough}, false},
		{"no key", result.Sample{Experiment: "core-to-core", Values: enough}, false},
		{"too few", result.Sample{Experiment: "core-to-core", Key: "0-1", Values: enough[1:]}, false},
		{"zero", result.Sample{Experiment: "core-to-core", Key: "0-1", Values: append([]float64{0}, enough...)}, false},
		{"blocks", result.Sample{Experiment: "core-to-core", Key: "0-1 both", Values: enough}, false},
	} {
		pairs := shuffledPairs([]int{0, 1}, (&aMachine{}).relation, 1)
		takeEarlier(pairs, []result.Sample{test.sample})
		if p := pairs[0]; p.done != test.done || p.done != (len(p.cas) > 0) || len(p.both) > 0 {
			t.Errorf("%s: %+v", test.name, p)
		}
	}
	pairs := shuffledPairs([]int{0, 1}, (&aMachine{}).relation, 1)
	takeEarlier(pairs, []result.Sample{
		{Experiment: "core-to-core", Key: "0-1 both", Values: []float64{20, 30}},
		{Experiment: "core-to-core", Key: "0-1", Values: enough}})
	if got := fmt.Sprint(pairs[0].both); got != "[20 30]" {
		t.Errorf("blocks are %s", got)
	}
}
