package reports

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// blocking makes up a general-purpose lock.
func blocking(name string, rate float64) synthetic.Model {
	m := synthetic.Fast(name, rate)
	m.Lock.Family = harness.Blocking
	return m
}

func TestLead(t *testing.T) {
	crossing := func(name string, low, high float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Local(name, harness.Blocking, harness.Recommended), Handed: 0.5, Noise: 0.01, Rate: func(w int) float64 {
			if w > 2 {
				return high
			}
			return low
		}}
	}
	spinning := func(name string, low, high float64) synthetic.Model {
		m := crossing(name, low, high)
		m.Lock.Family = harness.Spin
		return m
	}
	remote := synthetic.Model{Lock: synthetic.Served("q", harness.Redis, "redis"), Rate: synthetic.Constant(900), Handed: 1, Noise: 0.01}
	for _, c := range []struct {
		name   string
		rounds int
		models []synthetic.Model
		want   string
	}{
		{"one for all", 10, []synthetic.Model{blocking("a", 2e6), blocking("b", 1e6)},
			"Inside one process use a."},
		{"it depends", 10, []synthetic.Model{crossing("a", 2e6, 1e6), crossing("b", 1e6, 2e6)},
			"Inside one process use a without contention and with one worker per CPU; b with more workers than CPUs."},
		{"too few rounds", 3, []synthetic.Model{synthetic.Fast("a", 2e6), synthetic.Fast("b", 1e6)},
			"Inside one process, nothing can be recommended yet: 6 rounds are needed to compare 2 locks at 95 % for all pairs together."},
		{"between processes", 10, []synthetic.Model{remote},
			"Between processes, nothing can be recommended: q was compared with no other lock."},
		{"of two between processes", 10, []synthetic.Model{remote, synthetic.With(remote, func(m *synthetic.Model) { m.Lock.Name, m.Rate = "p", synthetic.Constant(500) })},
			"Between processes use q. It was not tested for failures."},
		{"a spin lock alone", 10, []synthetic.Model{synthetic.Fast("a", 2e6)},
			"Inside one process, nothing can be recommended: a, a spin lock, was compared with no other lock."},
		{"spin locks alone", 10, []synthetic.Model{spinning("a", 2e6, 1e6), spinning("b", 1e6, 2e6)},
			"Inside one process, nothing can be recommended: no recommended general-purpose lock was measured. The choice of the spin locks is a without contention and with one worker per CPU; b with more workers than CPUs."},
		{"the only recommended one, beside others", 10, []synthetic.Model{blocking("sync-mutex", 1e6), synthetic.Fast("mcs", 2e6), synthetic.With(blocking("chan", 5e5), func(m *synthetic.Model) { m.Lock.Status = harness.Reference })},
			"Inside one process use sync-mutex."},
		{"one not decided", 10, []synthetic.Model{synthetic.Fast("a", 2e6), synthetic.With(crossing("b", 1e6, 1e6), func(m *synthetic.Model) { m.Missing = 5; m.Lock.Traits.MaxWorkers = 2 })},
			"nothing can be recommended yet"},
	} {
		got := strings.ReplaceAll(plainLead(lead(verdict.All(synthetic.Run(5, c.rounds, 2, []int{1, 2, 8}, c.models...)))), numfmt.Space, " ")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLeadNamesALockOnce: one lock for all situations, readers too.
func TestLeadNamesALockOnce(t *testing.T) {
	run, readers := synthetic.Run(3, 10, 2, []int{1, 2, 8}, blocking("a", 2e6), blocking("b", 1e6)), synthetic.Run(4, 10, 2, []int{8}, blocking("a", 2e6), blocking("b", 1e6))
	for _, r := range readers.Results {
		r.Workload.Reads = 90
	}
	run.Results = append(run.Results, readers.Results...)
	if text := Lead(verdict.All(run)); text != "Inside one process use a." {
		t.Errorf("the page begins with %q", text)
	}
}

// TestLeadNamesNoBrokenLock: the fastest lock broke a rule.
func TestLeadNamesNoBrokenLock(t *testing.T) {
	run := synthetic.Run(3, 10, 2, []int{1, 2, 8}, synthetic.With(blocking("a", 9e6), func(m *synthetic.Model) { m.Breaks = true }), blocking("b", 2e6), blocking("c", 1e6))
	if text := plainLead(lead(verdict.All(run))); strings.Contains(text, "use a") || !strings.Contains(text, "use b") {
		t.Errorf("the page begins with %q", text)
	}
}

// TestLeadOnServers: a faster lock that guarantees less is named once for a degree of
// contention, also where it is that on servers that are not the default.
func TestLeadOnServers(t *testing.T) {
	served := func(name string, alone, among float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, harness.Redis, "redis"), Handed: 1, Noise: 0.001, Rate: func(w int) float64 {
			if w == 1 {
				return alone
			}
			return among
		}}
	}
	safe, quick := served("safe", 500, 500), served("quick", 400, 900)
	run := synthetic.Run(1, 10, 2, []int{1, 8}, safe, quick)
	for _, r := range run.Results[:len(run.Results):len(run.Results)] {
		if r.Workload.Workers == 8 {
			far := *r
			far.Workload.Servers, far.Workload.Durable = 3, true
			run.Results = append(run.Results, &far)
		}
	}
	for _, m := range []synthetic.Model{safe, quick} {
		seen := map[harness.Harm]int{harness.TwoHolders: 50}
		if m.Lock.Name == "safe" {
			seen = nil
		}
		run.Faults = append(run.Faults, synthetic.Fault("failover", m.Lock, 200, 0, seen, harness.Failover), synthetic.Fault("pause", m.Lock, 200, 0, nil, harness.Recovery))
	}
	got := numfmt.Plain(Lead(verdict.All(run)))
	if want := "quick when many want it and also on 3 durable servers"; !strings.Contains(got, want) || !strings.Contains(got, "use safe") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLeadOnReaders: one distributed lock for all situations but that of readers.
func TestLeadOnReaders(t *testing.T) {
	of := func(name string, rate float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, harness.Redis, "redis"), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	}
	run, readers := synthetic.Run(3, 10, 2, []int{1, 8}, of("q", 900), of("p", 500)), synthetic.Run(4, 10, 2, []int{8}, of("q", 500), of("p", 900))
	for _, r := range readers.Results {
		r.Workload.Reads = 90
	}
	run.Results = append(run.Results, readers.Results...)
	if got, want := Lead(verdict.All(run)), "Between processes use q; p when most acquisitions only read. None of these was tested for failures."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
