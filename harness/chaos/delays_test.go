package chaos_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// TestDelayed: a delay caused only by the machine is no anomaly, and the try is repeated.
func TestDelayed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, lock string
		resumed    bool // before the end of the try
		show       bool // by the scenario
		hurt       bool // by another anomaly, which no delay excuses
	}{
		{"granted late", "slow", true, false, false},
		{"stuck to the end", "hang", false, false, false},
		{"stuck, and runs again", "hang", true, false, false},
		{"shown", "free", true, true, false},
		{"shown, and misled", "free", false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := chaos.Scenario{Name: "delayed", Deadline: 20 * time.Second, Prompt: prompt, Try: func(ctx context.Context, t *chaos.Try) {
				if t.Number > 0 {
					return
				}
				h, began := starveAsking(ctx, t)
				if c.resumed {
					chaos.Check(chaos.Starve(h, false))
					t.Sleep(ctx, prompt/2)
				}
				if c.show {
					t.Subjects[0].ShowTimed(oracle.Lost, began, t.Now(), prompt, "for a test")
				}
				if c.hurt {
					t.Subjects[0].Show(oracle.Misled, "for a test")
				}
			}}
			var r *result.FaultResult
			for n := 0; n == 0 || r.Starved == 0 && !c.hurt && n < 5; n++ { // it may be granted before the process is stopped
				r = tryScenario(t, s, chaos.Plan{}, c.lock)[c.lock]
			}
			if c.hurt {
				if r.Tries != 1 || r.Starved > 0 || len(r.Seen) != 1 || r.Seen[oracle.Misled] != 1 {
					t.Errorf("%d tries, %d that do not count, seen %v: %q", r.Tries, r.Starved, r.Seen, r.Notes)
				}
			} else if r.Tries != 1 || r.Starved != 1 || len(r.Seen) > 0 || len(r.Figures) == 0 || !strings.Contains(r.Notes[0], "the machine did not run") {
				t.Errorf("%d tries, %d that do not count, seen %v, figures %v: %q", r.Tries, r.Starved, r.Seen, r.Figures, r.Notes)
			}
		})
	}
}

// prompt is short for a lock, and long for a process that sleeps to wake.
const prompt = 400 * time.Millisecond

// starveAsking stops the process of a worker that asks for the lock, and waits for two prompts.
func starveAsking(ctx context.Context, t *chaos.Try) (h *chaos.Host, began int64) {
	h = t.Host()
	w := h.Open(ctx, t.Subjects[0], harness.Endpoint{})
	began = t.Now()
	w.Begin(ctx, 0)
	t.Until(ctx, "the worker to ask", func() bool { return len(t.Subjects[0].Events()) > 0 })
	chaos.Check(chaos.Starve(h, true))
	t.Sleep(ctx, 2*prompt)
	return h, began
}

// TestFirstGrant: a lock that is never granted does not spoil the tries of other locks.
func TestFirstGrant(t *testing.T) {
	t.Parallel()
	s := chaos.Scenario{Name: "first-grant", Deadline: 20 * time.Second, Try: func(ctx context.Context, t *chaos.Try) {
		chaos.Pairs(ctx, t)
		chaos.Check(ctx.Err())
	}}
	got := tryScenario(t, s, chaos.Plan{}, "free", "hang")
	if r := got["free"]; r.Tries != 1 {
		t.Errorf("free: %+v", r)
	}
	if r := got["hang"]; r.Tries != 0 || r.Failed == 0 || !strings.Contains(r.Skipped, "not granted") {
		t.Errorf("hang: %+v", r)
	}
}

func TestStuckOnBusyMachine(t *testing.T) {
	t.Parallel()
	for _, show := range []bool{false, true} {
		name, want := "hang", oracle.Stuck
		if show {
			name, want = "free", oracle.Lost
		}
		s := chaos.Scenario{Name: "stuck", Deadline: 20 * time.Second, Prompt: prompt, Try: func(ctx context.Context, t *chaos.Try) {
			h, began := starveAsking(ctx, t)
			chaos.Check(chaos.Starve(h, false))
			delayed := func() time.Duration {
				d, _ := oracle.NewDelays(chaos.Delays(t)).Between(began, t.Now())
				return d
			}
			t.Sleep(ctx, 3*prompt/2)
			for ctx.Err() == nil && time.Duration(t.Now()-began)-delayed() < 3*prompt/2 {
				t.Sleep(ctx, prompt/4)
			}
			if show {
				t.Subjects[0].ShowTimed(oracle.Lost, began, t.Now(), delayed()+prompt, "for a test")
			}
		}}
		if r := tryScenario(t, s, chaos.Plan{}, name)[name]; r.Tries != 1 || r.Seen[want] != 1 {
			t.Errorf("%d tries, %d that do not count, seen %v, want %s: %q", r.Tries, r.Starved, r.Seen, want, r.Notes)
		}
	}
}

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

// TestStarved: a try does not count if the machine keeps a holder from running.
func TestStarved(t *testing.T) {
	t.Parallel()
	for _, expected := range []bool{false, true} {
		starved := 0 // holders stopped before they were notified
		s := chaos.Scenario{Name: "starved", Deadline: 20 * time.Second, Try: func(ctx context.Context, t *chaos.Try) {
			hosts := t.Hosts(2)
			s, w := t.Subjects[0], [2]*chaos.Worker{}
			for i, h := range hosts {
				w[i] = h.Open(ctx, s, harness.Endpoint{})
			}
			told := func() bool { return countEvents(s, oracle.Told) > 0 }
			chaos.Check(w[0].Acquire(ctx, 0))
			if t.Number < 2 {
				chaos.Check(chaos.Starve(hosts[0], true))
				t.Sleep(ctx, 150*time.Millisecond)
				if !told() { // otherwise the machine was busy
					starved++
				}
			} else {
				t.Until(ctx, "it is told", told)
			}
			chaos.Check(w[1].Acquire(ctx, 0))
			if t.Number < 2 {
				t.Sleep(ctx, 30*time.Millisecond)
				chaos.Check(chaos.Starve(hosts[0], false))
			}
			t.Until(ctx, "it is told", told)
		}}
		if expected {
			s.Expect = []chaos.Expectation{{Locks: ".*", Anomalies: []oracle.Anomaly{oracle.TwoHolders}, Why: "no lease can tell a process that does not run"}}
		}
		var r *result.FaultResult
		for n := 0; starved == 0 && n < 5; n++ {
			r = tryScenario(t, s, chaos.Plan{Tries: 2}, "lapse")["lapse"]
		}
		want := starved
		if expected {
			want = 0
		}
		if starved == 0 || r.Tries != 2 || r.Starved != want || (r.Seen[oracle.TwoHolders] > 0) != expected || r.Seen[oracle.Misled] > 0 {
			t.Errorf("two holders expected, %t: %d tries, %d that do not count of %d, seen %v", expected, r.Tries, r.Starved, starved, r.Seen)
		}
	}
}

// TestLateDeadline: a holder that is notified in time may still have read a Deadline that is after
// the next grant.
func TestLateDeadline(t *testing.T) {
	t.Parallel()
	r := tryScenario(t, chaos.Scenario{Name: "late-deadline", Deadline: 20 * time.Second, Try: func(ctx context.Context, t *chaos.Try) {
		s := t.Subjects[0]
		chaos.Check(t.Host().Open(ctx, s, harness.Endpoint{}).Acquire(ctx, 0))
		t.Until(ctx, "it is told", func() bool { return countEvents(s, oracle.Told) > 0 })
		chaos.Check(t.Host().Open(ctx, s, harness.Endpoint{}).Acquire(ctx, 0))
	}}, chaos.Plan{}, "overstate")["overstate"]
	if want := map[oracle.Anomaly]int{oracle.Misled: 1}; r.Tries != 1 || !maps.Equal(r.Seen, want) {
		t.Errorf("seen %v, want %v: %+v", r.Seen, want, r)
	}
}
