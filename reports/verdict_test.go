package reports

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
)

// find returns the verdict on a situation.
func findVerdict(t *testing.T, vs []verdict, situation string) verdict {
	t.Helper()
	i := slices.IndexFunc(vs, func(v verdict) bool { return v.Situation == situation })
	if i < 0 {
		t.Fatalf("no verdict on %q in %+v", situation, vs)
	}
	return vs[i]
}

func fast(name string, rate float64) model {
	return model{lock: local(name, harness.Spin, harness.Recommended), rate: constant(rate), handed: 0.5, noise: 0.01}
}

func with(m model, edit func(*model)) model { edit(&m); return m }

func status(s harness.Status) func(*model) { return func(m *model) { m.lock.Status = s } }

func TestVerdict(t *testing.T) {
	const both = "more workers than CPUs"
	for _, c := range []struct {
		name      string
		rounds    int
		models    []model
		situation string
		use       string // "" for no verdict
		ties      string
		why       string // part of Why
		notes     string // part of Notes
		unfair    bool
	}{
		{name: "a clear winner", rounds: 10, models: []model{fast("a", 1e6), fast("b", 2e6), fast("c", 1.5e6)},
			use: "b", why: "faster than every other recommended lock (2) by at least"},
		{name: "a tie", rounds: 10, models: []model{fast("a", 2e6), fast("b", 2e6), fast("c", 1e6)},
			ties: "either", why: "is faster than all but its ties (1 of 2"},
		{name: "a tie goes to the fairer", rounds: 10, models: []model{
			with(fast("a", 2.2e6), func(m *model) { m.skew, m.noise = 3, 0.2 }), with(fast("b", 2e6), func(m *model) { m.noise = 0.2 })},
			use: "b", ties: "a", why: "fairer"},
		{name: "a violation is never recommended", rounds: 10,
			models: []model{with(fast("a", 9e6), func(m *model) { m.breaks = true }), fast("b", 2e6)}, use: "b", why: "the only candidate"},
		{name: "all violate", rounds: 10, models: []model{with(fast("a", 9e6), func(m *model) { m.breaks = true })}, situation: "none"},
		{name: "too few rounds", rounds: 3, models: []model{fast("a", 1e6), fast("b", 2e6)}, why: "no verdict: n = 3. 1 comparison at 95 % together need 6 rounds; the highest median is that of b"},
		{name: "too few rounds for so many", rounds: 6, models: []model{fast("a", 1e6), fast("b", 2e6), fast("c", 1e6)}, why: "no verdict: n = 6. 2 comparisons"},
		{name: "too few rounds alone", rounds: 5, models: []model{fast("a", 1e6)}, why: "no verdict: n = 5. An interval"},
		{name: "rounds missing", rounds: 10, models: []model{fast("a", 2e6), with(fast("b", 1e6), func(m *model) { m.missing = 6 })}, why: "no verdict: n = 4"},
		{name: "noise", rounds: 10, models: []model{with(fast("a", 1e6), func(m *model) { m.noise = 3 }), fast("b", 1e3)}, why: "no verdict: noise"},
		{name: "reference is not used", rounds: 10, models: []model{fast("a", 1e6), with(fast("b", 2e6), status(harness.Reference))},
			use: "a", notes: "b, kept for reference, is 2 times as fast"},
		{name: "only reference", rounds: 10, models: []model{with(fast("b", 2e6), status(harness.Reference))}, use: "b", notes: "only locks kept for reference"},
		{name: "only a control", rounds: 10, models: []model{with(fast("b", 2e6), status(harness.Control))}, why: "no verdict: no lock that may be recommended"},
		{name: "historical is not used", rounds: 10, models: []model{fast("a", 1e6), with(fast("b", 2e6), status(harness.Historical))}, use: "a"},
		{name: "unfair is flagged", rounds: 10, models: []model{with(fast("a", 9e6), func(m *model) { m.skew = 30 })}, use: "a", unfair: true, notes: "unfair"},
		{name: "nothing acquired", rounds: 10, models: []model{fast("a", 0)}, why: "no verdict: no lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			vs := verdicts(synthesize(5, c.rounds, 2, []int{1, 2, 8}, c.models...))
			if c.situation == "none" {
				if len(vs) != 0 {
					t.Fatalf("got %+v, want no situation at all", vs)
				}
				return
			}
			v := findVerdict(t, vs, both)
			switch {
			case c.ties == "either":
				if got := []string{v.Use, strings.Join(v.Ties, " ")}; !slices.Contains(got, "a") || !slices.Contains(got, "b") {
					t.Errorf("use and ties are %v, want a and b", got)
				}
			case v.Use != c.use || strings.Join(v.Ties, " ") != c.ties:
				t.Errorf("use %q, ties %q; want %q, %q", v.Use, v.Ties, c.use, c.ties)
			}
			if why := strings.ReplaceAll(v.Why, nb, " "); !strings.Contains(why, c.why) {
				t.Errorf("why is %q, want it to have %q", why, c.why)
			}
			if notes := strings.Join(v.Notes, "; "); !strings.Contains(notes, c.notes) {
				t.Errorf("notes are %q, want them to have %q", notes, c.notes)
			}
			if v.Unfair != c.unfair {
				t.Errorf("unfair is %v, want %v", v.Unfair, c.unfair)
			}
		})
	}
}

// TestFalseDifferences draws many runs of equal locks: the chance that a row
// claims any difference must stay under 5 %.
func TestFalseDifferences(t *testing.T) {
	const runs = 300
	claimed := 0
	for seed := range uint64(runs) {
		run := synthesize(seed, 10, 2, []int{8}, with(fast("a", 1e5), noisy), with(fast("b", 1e5), noisy), with(fast("c", 1e5), noisy), with(fast("d", 1e5), noisy))
		if v := findVerdict(t, verdicts(run), "more workers than CPUs"); len(v.Ties) < 3 {
			claimed++
		}
	}
	if share := float64(claimed) / runs; share > 0.05 {
		t.Errorf("%.1f %% of runs of equal locks claim a difference, want 5 %% at most", 100*share)
	}
}

func noisy(m *model) { m.noise = 0.1 }

// TestContendedRemote demands that a lock which its owner takes back does not
// win by that.
func TestContendedRemote(t *testing.T) {
	greedy := model{lock: served("greedy", harness.Redis, "redis"), rate: constant(9000), handed: 0.01, skew: 3, noise: 0.02}
	queue := model{lock: served("queue", harness.ZooKeeper, "zookeeper"), rate: constant(900), handed: 1, noise: 0.02}
	vs := verdicts(synthesize(1, 10, 2, []int{1, 8}, greedy, queue))
	if v := findVerdict(t, vs, "distributed, uncontended"); v.Use != "greedy" {
		t.Errorf("uncontended: use %q (%s), want greedy", v.Use, v.Why)
	}
	v := findVerdict(t, vs, "distributed, contended")
	if v.Use != "queue" || !strings.Contains(v.Rate, "hand-overs") || !strings.Contains(v.Cost, "3 requests") {
		t.Errorf("contended: got %+v, want queue by hand-overs at 3 requests", v)
	}
}

func TestSituations(t *testing.T) {
	for _, c := range []struct {
		cpus    int
		workers []int
		want    string
	}{
		{2, []int{1, 2, 4, 64}, "uncontended 1, one worker per CPU 2, more workers than CPUs 64"},
		{8, []int{1, 2, 4, 8}, "uncontended 1, a few workers 2, one worker per CPU 8"},
		{8, []int{3, 4, 16}, "a few workers 3, more workers than CPUs 16"},
		{1, []int{1, 2}, "uncontended 1, more workers than CPUs 2"},
		{0, []int{1, 2, 4}, "uncontended 1, contended 4"},
		{4, []int{1}, "uncontended 1"},
	} {
		run := synthesize(1, 1, c.cpus, c.workers, fast("a", 1e6))
		var got []string
		for _, s := range situations(groups(run)[0]) {
			got = append(got, s.name+" "+figures(float64(s.workers)))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%d CPUs, workers %v: got %q, want %q", c.cpus, c.workers, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	run := synthesize(1, 4, 2, []int{1, 2},
		with(fast("bad", 1e6), func(m *model) { m.breaks = true }), fast("good", 1e6), with(fast("old", 1e6), status(harness.Historical)))
	got := refusals(run)
	if len(got) != 2 || got[0].Lock != "bad" || got[1].Lock != "old" {
		t.Fatalf("got %+v, want bad and old", got)
	}
	if want := "it broke the rule of exclusion in 2 of 8 results: counter is 7"; !strings.Contains(got[0].Reason, want) {
		t.Errorf("got %q, want it to have %q", got[0].Reason, want)
	}
	for _, g := range groups(run) {
		for _, s := range g.series {
			if s.lock.Name == "bad" {
				t.Error("a lock with a violation is drawn")
			}
		}
	}
}
