package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// find returns the verdict on a situation.
func findVerdict(t *testing.T, vs []Verdict, situation string) Verdict {
	t.Helper()
	i := slices.IndexFunc(vs, func(v Verdict) bool { return v.Situation == situation })
	if i < 0 {
		t.Fatalf("no verdict on %q in %+v", situation, vs)
	}
	return vs[i]
}

func complexity(c harness.Complexity) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Complexity = c }
}

func noisier(m *synthetic.Model) { m.Noise = 0.2 }

func status(s harness.Status) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Status = s }
}

func TestVerdict(t *testing.T) {
	const both = "more workers than CPUs"
	for _, c := range []struct {
		name      string
		rounds    int
		models    []synthetic.Model
		situation string
		use       string // "" for no verdict
		ties      string
		why       string // part of Why
		notes     string // part of Notes
		unfair    bool
	}{
		{name: "a clear winner", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 1e6), synthetic.Fast("b", 2e6), synthetic.Fast("c", 1.5e6)},
			use: "b", why: "faster than c and a, by at least"},
		{name: "a tie", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 2e6), synthetic.Fast("b", 2e6), synthetic.Fast("c", 1e6)},
			ties: "either", why: "of the 2 that are not slower the one with the highest median; as good: a (shown to be within 5 %); it is faster than c, by at least 96 % (10 rounds, 98 % each)"},
		{name: "a tie goes to the fairer", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2e6), func(m *synthetic.Model) { m.Skew, m.Noise = 3, 0.2 }), synthetic.With(synthetic.Fast("b", 2e6), func(m *synthetic.Model) { m.Noise = 0.2 })},
			use: "b", ties: "a", why: "of the 2 that are not slower the fairest (Jain 100 %, 99.9 to 100 %); the highest median is that of a, 2.27 M/s (Jain 61 %, 61 to 61 %); not told apart: a (10 rounds"},
		{name: "a tie as fair goes to the simpler", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2e6), complexity(harness.Queued), noisier), synthetic.With(synthetic.Fast("b", 2e6), complexity(harness.Single), noisier)},
			use: "b", ties: "a", why: "of the 2 that are not slower the simplest (one word or key)"},
		{name: "a lock without a complexity is not simple", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2e6), noisier), synthetic.With(synthetic.Fast("b", 2e6), complexity(harness.Composed), noisier)},
			use: "b", ties: "a", why: "simplest (several locks in one)"},
		{name: "fairness comes before simplicity", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2e6), complexity(harness.Standard), noisier, func(m *synthetic.Model) { m.Skew = 3 }), synthetic.With(synthetic.Fast("b", 2e6), complexity(harness.Queued), noisier)},
			use: "b", ties: "a", why: "of the 2 that are not slower the fairest"},
		{name: "of the fairest the simplest", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2.2e6), complexity(harness.Standard), noisier, func(m *synthetic.Model) { m.Skew = 3 }),
			synthetic.With(synthetic.Fast("b", 2e6), complexity(harness.Queued), noisier), synthetic.With(synthetic.Fast("c", 2e6), complexity(harness.Single), noisier)},
			use: "c", ties: "a b", why: "of the 3 that are not slower the fairest (Jain 100 %, 99.9 to 100 %) and then the simplest"},
		{name: "a readers-writer lock without readers is not as simple", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2e6), complexity(harness.Standard), noisier, func(m *synthetic.Model) { m.Lock.Traits.ReadWrite = true }), synthetic.With(synthetic.Fast("b", 2e6), complexity(harness.Standard), noisier)},
			use: "b", ties: "a", why: "simplest"},
		{name: "simple and slower is not used", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 2e6), synthetic.With(synthetic.Fast("b", 1e6), complexity(harness.Standard))}, use: "a"},
		{name: "a violation is never recommended", rounds: 10,
			models: []synthetic.Model{synthetic.With(synthetic.Fast("a", 9e6), func(m *synthetic.Model) { m.Breaks = true }), synthetic.Fast("b", 2e6)}, use: "b", why: "no other recommended lock was measured here; "},
		{name: "all violate", rounds: 10, models: []synthetic.Model{synthetic.With(synthetic.Fast("a", 9e6), func(m *synthetic.Model) { m.Breaks = true })}, situation: "none"},
		{name: "too few rounds", rounds: 3, models: []synthetic.Model{synthetic.Fast("a", 1e6), synthetic.Fast("b", 2e6)}, why: "no verdict: 3 rounds, 6 needed to compare 2 locks at 95 % for all pairs together. The highest median is that of b"},
		{name: "too few rounds for so many", rounds: 6, models: []synthetic.Model{synthetic.Fast("a", 1e6), synthetic.Fast("b", 2e6), synthetic.Fast("c", 1e6)}, why: "no verdict: 6 rounds, 7 needed to compare 3 locks"},
		{name: "too few rounds alone", rounds: 5, models: []synthetic.Model{synthetic.Fast("a", 1e6)}, why: "no verdict: 5 rounds, 6 needed for an interval"},
		{name: "rounds missing", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 2e6), synthetic.With(synthetic.Fast("b", 1e6), func(m *synthetic.Model) { m.Missing = 6 })}, why: "no verdict: 4 rounds, 6 needed"},
		{name: "noise", rounds: 10, models: []synthetic.Model{synthetic.With(synthetic.Fast("a", 1e6), func(m *synthetic.Model) { m.Noise = 2 }), synthetic.Fast("b", 0.9e6)}, why: "no verdict: too much noise. a has the highest median, 3.48 M/s, but in the same rounds b may be anything from 0.0925 to 2.2 times as fast as a, which would be used"},
		{name: "probably slower", rounds: 12, models: []synthetic.Model{synthetic.With(synthetic.Fast("a", 1.8e6), func(m *synthetic.Model) { m.Noise = 1.1 }), synthetic.Fast("b", 1e6), synthetic.Fast("c", 1e3), synthetic.Fast("d", 1e3)},
			use: "a", ties: "b", why: "not told apart: b (b seems slower); it is faster than c and d, by at least"},
		{name: "what seems slower is not used for being simpler", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2.3e6), complexity(harness.Queued), noisier), synthetic.With(synthetic.Fast("b", 2e6), complexity(harness.Single), noisier)},
			use: "a", ties: "b", why: "not told apart: b (b seems slower)"},
		{name: "nor for being fairer", rounds: 10, models: []synthetic.Model{
			synthetic.With(synthetic.Fast("a", 2.2e6), func(m *synthetic.Model) { m.Skew, m.Noise = 3, 0.2 }), synthetic.With(synthetic.Fast("b", 2e6), func(m *synthetic.Model) { m.Noise = 0.2 })},
			use: "a", ties: "b", why: "not told apart: b (b seems slower)"},
		{name: "too few rounds for those kept for reference", rounds: 6, models: []synthetic.Model{synthetic.Fast("a", 2e6), synthetic.Fast("b", 1e6), synthetic.With(synthetic.Fast("c", 3e6), status(harness.Reference))},
			use: "a", why: "faster than b, by at least 95 % (6 rounds, 95 % each); whether a lock kept for reference is faster takes 8 rounds to tell"},
		{name: "noise that does not matter", rounds: 10, models: []synthetic.Model{synthetic.With(synthetic.Fast("a", 1e6), func(m *synthetic.Model) { m.Noise = 1 }), synthetic.Fast("b", 1e3)}, use: "a", why: "faster than b"},
		{name: "reference is not used", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 1e6), synthetic.With(synthetic.Fast("b", 2e6), status(harness.Reference))},
			use: "a", notes: "b, kept for reference, is 2 times as fast"},
		{name: "only reference", rounds: 10, models: []synthetic.Model{synthetic.With(synthetic.Fast("b", 2e6), status(harness.Reference))}, use: "b", notes: "begin with sync.Mutex"},
		{name: "only a control", rounds: 10, models: []synthetic.Model{synthetic.With(synthetic.Fast("b", 2e6), status(harness.Control))}, why: "no verdict: no lock that may be recommended"},
		{name: "historical is not used", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 1e6), synthetic.With(synthetic.Fast("b", 2e6), status(harness.Historical))}, use: "a"},
		{name: "unfair is flagged", rounds: 10, models: []synthetic.Model{synthetic.With(synthetic.Fast("a", 9e6), func(m *synthetic.Model) { m.Skew = 30 })}, use: "a", unfair: true, notes: "unfair"},
		{name: "nothing acquired", rounds: 10, models: []synthetic.Model{synthetic.Fast("a", 0)}, why: "no verdict: no lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			vs := All(synthetic.Run(5, c.rounds, 2, []int{1, 2, 8}, c.models...))
			if c.situation == "none" {
				if len(vs) != 0 {
					t.Fatalf("got %+v, want no situation at all", vs)
				}
				return
			}
			v := findVerdict(t, vs, both)
			switch {
			case c.ties == "either":
				if got := []string{v.Use, strings.Join(v.Ties(), " ")}; !slices.Contains(got, "a") || !slices.Contains(got, "b") {
					t.Errorf("use and ties are %v, want a and b", got)
				}
			case v.Use != c.use || strings.Join(slices.Sorted(slices.Values(v.Ties())), " ") != c.ties:
				t.Errorf("use %q, ties %q; want %q, %q", v.Use, v.Ties(), c.use, c.ties)
			}
			if why := strings.ReplaceAll(v.Why, numfmt.Space, " "); !strings.Contains(why, c.why) {
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
	rounds := stat.MinRounds(stat.Level(stat.Pairs(4, 0)))
	claimed := 0
	for seed := range uint64(runs) {
		run := synthetic.Run(seed, rounds, 2, []int{8}, synthetic.With(synthetic.Fast("a", 1e5), noisy), synthetic.With(synthetic.Fast("b", 1e5), noisy), synthetic.With(synthetic.Fast("c", 1e5), noisy), synthetic.With(synthetic.Fast("d", 1e5), noisy))
		if v := findVerdict(t, All(run), "more workers than CPUs"); len(v.Ties()) < 3 {
			claimed++
		}
	}
	if share := float64(claimed) / runs; share > 0.05 {
		t.Errorf("%.1f %% of runs of equal locks claim a difference, want 5 %% at most", 100*share)
	}
}

func noisy(m *synthetic.Model) { m.Noise = 0.1 }

// TestContendedRemote demands that a lock which its owner takes back does not
// win by that.
func TestContendedRemote(t *testing.T) {
	greedy := synthetic.Model{Lock: synthetic.Served("greedy", harness.Redis, "redis"), Rate: synthetic.Constant(9000), Handed: 0.01, Skew: 3, Noise: 0.02}
	queue := synthetic.Model{Lock: synthetic.Served("queue", harness.ZooKeeper, "zookeeper"), Rate: synthetic.Constant(900), Handed: 1, Noise: 0.02}
	vs := All(synthetic.Run(1, 10, 2, []int{1, 8}, greedy, queue))
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
		{8, []int{3, 4, 16}, "a few workers 3, up to one worker per CPU 4, more workers than CPUs 16"},
		{1, []int{1, 2}, "uncontended 1, more workers than CPUs 2"},
		{0, []int{1, 2, 4}, "uncontended 1, contended 4"},
		{4, []int{1}, "uncontended 1"},
	} {
		run := synthetic.Run(1, 1, c.cpus, c.workers, synthetic.Fast("a", 1e6))
		var got []string
		for _, s := range situations(Groups(run)[0]) {
			got = append(got, s.name+" "+numfmt.Number(float64(s.workers)))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%d CPUs, workers %v: got %q, want %q", c.cpus, c.workers, got, c.want)
		}
	}
}

func TestExclusions(t *testing.T) {
	run := synthetic.Run(1, 4, 2, []int{1, 2},
		synthetic.With(synthetic.Fast("bad", 1e6), func(m *synthetic.Model) { m.Breaks = true }), synthetic.Fast("good", 1e6), synthetic.With(synthetic.Fast("old", 1e6), status(harness.Historical)))
	got := Exclusions(run)
	if len(got) != 2 || got[0].Lock != "bad" || got[1].Lock != "old" {
		t.Fatalf("got %+v, want bad and old", got)
	}
	if want := "it broke the rule of exclusion in 2 of 8 results: counter is 7"; !strings.Contains(got[0].Reason, want) {
		t.Errorf("got %q, want it to have %q", got[0].Reason, want)
	}
	for _, g := range Groups(run) {
		for _, s := range g.Series {
			if s.Lock.Name == "bad" {
				t.Error("a lock with a violation is drawn")
			}
		}
	}
}

// TestViolationsAreNeverRecommended breaks every rule that a result may carry,
// once, in another workload than the one that is judged.
func TestViolationsAreNeverRecommended(t *testing.T) {
	for _, rule := range []string{"exclusion", "liveness", "fencing", "error", "conformance", "safety"} {
		run := synthetic.Run(3, 10, 2, []int{1, 2, 8}, synthetic.Fast("a", 9e6), synthetic.Fast("b", 2e6), synthetic.With(synthetic.Fast("c", 1e6), status(harness.Reference)))
		other := synthetic.Run(4, 1, 2, []int{2}, synthetic.Fast("a", 9e6)).Results[0]
		other.Workload.Think.Mean = time.Millisecond
		other.Violations = []harness.Violation{{Rule: rule, Detail: "seen", Count: 1}}
		run.Results = append(run.Results, other)
		for _, v := range All(run) {
			if v.Use != "b" || slices.Contains(v.Ties(), "a") || slices.Contains(v.Ranked(), "a") {
				t.Errorf("%s: %s: use %q, ties %q, compared %q", rule, v.Situation, v.Use, v.Ties(), v.Ranked())
			}
		}
	}
}

// TestStatusesAreNeverRecommended: only locks for use are, and only where there
// are none those kept for reference.
func TestStatusesAreNeverRecommended(t *testing.T) {
	for _, s := range []harness.Status{harness.Control, harness.Historical, harness.Broken, "new"} {
		run := synthetic.Run(3, 10, 2, []int{1, 2, 8}, synthetic.With(synthetic.Fast("a", 9e6), status(s)), synthetic.Fast("b", 2e6))
		alone := synthetic.Run(3, 10, 2, []int{1, 2, 8}, synthetic.With(synthetic.Fast("a", 9e6), status(s)))
		for _, v := range append(All(run), All(alone)...) {
			if v.Use == "a" || slices.Contains(v.Ties(), "a") || slices.ContainsFunc(v.Notes, func(n string) bool { return strings.HasPrefix(n, "a") }) {
				t.Errorf("%s: %s: %+v", s, v.Situation, v)
			}
		}
	}
}

// reheld returns the results of run with another hold time and share of reads.
func reheld(run *resultfile.Run, hold time.Duration, reads int) []*harness.Result {
	for _, r := range run.Results {
		r.Workload.Hold.Mean, r.Workload.Reads = hold, reads
	}
	return run.Results
}

// TestStandingOfServers: of the servers that are not the default those that differ in the
// most ways come into the table, once where there are default ones, too.
func TestStandingOfServers(t *testing.T) {
	served := func(seed uint64, set func(w *harness.Workload)) []*harness.Result {
		run := synthetic.Run(seed, 1, 2, []int{1, 8}, synthetic.Model{Lock: synthetic.Served("q", harness.Redis, "redis"), Rate: synthetic.Constant(900)})
		for _, r := range run.Results {
			set(&r.Workload)
		}
		return run.Results
	}
	run := synthetic.Run(1, 1, 2, []int{1}, synthetic.Fast("a", 1e6))
	far := served(2, func(w *harness.Workload) { w.Delay = time.Millisecond })
	farthest := served(3, func(w *harness.Workload) { w.Delay, w.Servers, w.Durable = time.Millisecond, 3, true })
	names := func(ss []Situation) (out []string) {
		for _, s := range ss {
			if s.g.Remote {
				out = append(out, s.name)
			}
		}
		return out
	}
	run.Results = append(append(run.Results, far...), farthest...)
	first, others := Standing(Groups(run))
	want := []string{"distributed, 3 durable servers 1ms away, uncontended", "distributed, 3 durable servers 1ms away, contended"}
	if got := names(first); !slices.Equal(got, want) {
		t.Errorf("without the default: %q, want %q", got, want)
	}
	if got, want := names(others), []string{"distributed, server 1ms away, uncontended", "distributed, server 1ms away, contended"}; !slices.Equal(got, want) {
		t.Errorf("without the default, others: %q, want %q", got, want)
	}
	run.Results = append(run.Results, served(4, func(*harness.Workload) {})...)
	first, _ = Standing(Groups(run))
	want = []string{"distributed, uncontended", "distributed, contended", "distributed, 3 durable servers 1ms away, contended"}
	if got := names(first); !slices.Equal(got, want) {
		t.Errorf("with the default: %q, want %q", got, want)
	}
	if s := first[len(first)-1]; !strings.Contains(s.meaning(), "3 durable servers 1ms away") || !strings.HasSuffix(s.when(), "when many want it on 3 durable servers 1ms away") {
		t.Errorf("it is said as %q, %q", s.meaning(), s.when())
	}
	v := Verdict{about: first[len(first)-1]}
	for other, want := range map[string]string{"when many want it": "also on 3 durable servers 1ms away", "without contention": v.When()} {
		if got := v.WhenBeside([]string{other}); got != want {
			t.Errorf("behind %q it says %q, want %q", other, got, want)
		}
	}
}

// TestStanding: beside the ordinary workload a long hold and readers come into the
// table once each, and the rest comes after it.
func TestStanding(t *testing.T) {
	run := synthetic.Run(1, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 1e6))
	run.Results = append(run.Results, reheld(synthetic.Run(2, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), time.Microsecond, 0)...)
	run.Results = append(run.Results, reheld(synthetic.Run(3, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), 10*time.Microsecond, 0)...)
	run.Results = append(run.Results, reheld(synthetic.Run(4, 1, 2, []int{2, 8}, synthetic.Fast("a", 1e6)), 100*time.Nanosecond, 90)...)
	run.Results = append(run.Results, synthetic.Run(5, 1, 2, []int{1, 8}, synthetic.Model{Lock: synthetic.Served("q", harness.Redis, "redis"), Rate: synthetic.Constant(900)}).Results...)
	names := func(ss []Situation) string {
		var out []string
		for _, s := range ss {
			out = append(out, s.name)
			if s.meaning() == "" || s.when() == "" {
				t.Errorf("%s: no plain words", s.name)
			}
		}
		return strings.Join(out, "; ")
	}
	first, others := Standing(Groups(run))
	if got, want := names(first), "uncontended; one worker per CPU; more workers than CPUs; long hold, more workers than CPUs; mostly readers; distributed, uncontended; distributed, contended"; got != want {
		t.Errorf("first\n%s, want\n%s", got, want)
	}
	if got, want := names(others), "long hold, uncontended; long hold, one worker per CPU; uncontended; one worker per CPU; more workers than CPUs"; got != want {
		t.Errorf("others\n%s, want\n%s", got, want)
	}
	// Alone, a long hold is all there is.
	first, others = Standing(Groups(&resultfile.Run{Manifest: run.Manifest, Results: reheld(synthetic.Run(3, 1, 2, []int{1, 2, 8}, synthetic.Fast("a", 1e6)), time.Millisecond, 0)}))
	if got := names(first); strings.Count(got, "long hold") != 3 || len(others) != 0 {
		t.Errorf("a long hold alone: %s, and %d others", got, len(others))
	}
}

// TestRoundsFor: as many rounds as it says give a verdict, and one less does not.
func TestRoundsFor(t *testing.T) {
	models := []synthetic.Model{synthetic.Fast("a", 5e6), synthetic.Fast("b", 1e6), synthetic.Fast("c", 1e6), synthetic.With(synthetic.Fast("d", 1e6), status(harness.Reference)),
		synthetic.With(synthetic.Fast("e", 1e6), status(harness.Broken)), synthetic.With(synthetic.Fast("f", 1e6), func(m *synthetic.Model) { m.Lock.Traits.Permits = 2 })}
	cases := func(yield func(harness.Lock, harness.Workload) bool) {
		for _, m := range models {
			if !yield(m.Lock, harness.Workload{Workers: 8}) {
				return
			}
		}
	}
	rounds, locks := RoundsFor(cases, "")
	if locks != 4 || rounds != stat.MinRounds(stat.Level(3+3)) {
		t.Errorf("%d rounds for %d locks", rounds, locks)
	}
	// Three pairs of locks for use at 1.5 % each, three with the one kept for
	// reference at 0.17 %: the latter take as many to be told at all.
	among, aside := levels(3, 1)
	if planned := PlannedRounds(cases, ""); planned != max(stat.SturdyRounds(among), stat.MinRounds(aside)) || planned <= rounds {
		t.Errorf("%d rounds planned, at %v and %v", planned, among, aside)
	}
	for n, want := range map[int]string{rounds: "a", rounds - 1: ""} {
		if v := All(synthetic.Run(1, n, 2, []int{8}, models...))[0]; v.Use != want {
			t.Errorf("%d rounds: use %q, want %q (%s)", n, v.Use, want, v.Why)
		}
	}
}

func TestConfidence(t *testing.T) {
	for level, want := range map[float64]string{0.95: "95 %", 0.955: "95 %", 1 - 0.05/3: "98 %", 1 - 0.045/6: "99.2 %", 1 - 0.05/58: "99.91 %", 1 - 0.005/52: "99.99 %"} {
		if got := strings.ReplaceAll(confidence(level), numfmt.Space, " "); got != want {
			t.Errorf("%v is %q, want %q", level, got, want)
		}
	}
}
