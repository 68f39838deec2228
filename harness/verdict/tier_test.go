package verdict

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/compare"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// general makes a model that of a general-purpose lock.
func general(m *synthetic.Model) {
	m.Lock.Family, m.Lock.Complexity = harness.Blocking, harness.Standard
}

// TestTiers: a row is decided among general-purpose locks where one was measured; a spin
// lock is named beside it only where it is faster by more than the margin, and as a
// choice only where the conditions of the package comment can hold.
func TestTiers(t *testing.T) {
	mutex := synthetic.With(synthetic.Fast("mutex", 1e6), general)
	for _, c := range []struct {
		name      string
		models    []synthetic.Model
		situation string
		use       string
		instead   string // its lock
		rate      string // part of its rate
		note      string // part of the notes
		within    string
	}{
		{"a faster spin lock", []synthetic.Model{mutex, synthetic.Fast("spin", 2e6)}, "one worker per CPU", "mutex", "spin", "times as fast", "", "1 of 2 locks"},
		{"more workers than CPUs", []synthetic.Model{mutex, synthetic.Fast("spin", 2e6)}, "more workers than CPUs", "mutex", "", "", "spin, of the spin locks, made 1.99 M/s, 1.98 (1.97 to 2) times as fast; its waiters poll", "1 of 2 locks"},
		{"faster by less than the margin", []synthetic.Model{mutex, synthetic.Fast("spin", 1.03e6)}, "one worker per CPU", "mutex", "", "", "", "1 of 2 locks"},
		{"faster in noise", []synthetic.Model{mutex, synthetic.With(synthetic.Fast("spin", 1.2e6), func(m *synthetic.Model) { m.Noise = 0.5 })}, "one worker per CPU", "mutex", "", "", "", "1 of 2 locks"},
		{"the simpler of two spin locks", []synthetic.Model{mutex, synthetic.With(synthetic.Fast("queue", 2.02e6), complexity(harness.Queued)), synthetic.With(synthetic.Fast("word", 2e6), complexity(harness.Single))},
			"one worker per CPU", "mutex", "word", "times as fast", "", "1 of 3 locks"},
		{"two general-purpose locks", []synthetic.Model{mutex, synthetic.With(synthetic.Fast("chan", 2e6), general), synthetic.Fast("spin", 9e6)}, "one worker per CPU", "chan", "spin", "times as fast", "", "2 of 3 locks"},
		{"only spin locks", []synthetic.Model{synthetic.Fast("spin", 2e6), synthetic.Fast("slow", 1e6)}, "one worker per CPU", "spin", "", "", "spin is a spin lock, whose waiters poll while its holder may have lost its processor; begin with sync.Mutex", ""},
		{"no general-purpose lock for use", []synthetic.Model{synthetic.With(mutex, status(harness.Reference)), synthetic.Fast("spin", 2e6)}, "one worker per CPU", "spin", "", "", "begin with sync.Mutex", ""},
		{"a spin lock kept for reference", []synthetic.Model{mutex, synthetic.With(synthetic.Fast("spin", 2e6), status(harness.Reference))}, "one worker per CPU", "mutex", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := findVerdict(t, All(synthetic.Run(5, 12, 2, []int{1, 2, 8}, c.models...)), c.situation)
			var instead Choice
			if v.Instead != nil {
				instead = *v.Instead
			}
			notes := numfmt.Plain(strings.Join(v.Notes, "; "))
			if v.Use != c.use || instead.Lock != c.instead || v.Within != c.within || !strings.Contains(instead.Rate, c.rate) || !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("use %q of %q, else %+v, notes %q; want %q of %q, %q with %q, %q", v.Use, v.Within, instead, notes, c.use, c.within, c.instead, c.rate, c.note)
			}
			if c.instead != "" && (!strings.Contains(instead.Where, "measurement of your own program") || !strings.Contains(instead.Class, "spin lock")) {
				t.Errorf("%s is worth it where %q: %q", instead.Lock, instead.Where, instead.Class)
			}
			if unfit := strings.Contains(c.note, "its waiters poll"); (v.Unfit != nil) != unfit || unfit && (v.Unfit.Lock != "spin" || v.Unfit.Where != "no holder can lose its processor") {
				t.Errorf("not for it: %+v", v.Unfit)
			}
			if ranked := v.Ranked(); len(ranked) != len(c.models) {
				t.Errorf("compared %q, want every lock", ranked)
			}
		})
	}
}

// TestTerms: the margin and the candidates that a manifest names decide, and the rule
// says so.
func TestTerms(t *testing.T) {
	models := []synthetic.Model{
		synthetic.With(synthetic.Fast("word", 1e6), complexity(harness.Single)), synthetic.With(synthetic.Fast("queue", 1.1e6), complexity(harness.Queued)),
		synthetic.With(synthetic.Fast("peer", 2e6), status(harness.Reference)), synthetic.With(synthetic.Fast("old", 4e6), status(harness.Historical)),
		synthetic.With(synthetic.Fast("wrong", 9e6), status(harness.Reference), func(m *synthetic.Model) { m.Breaks = true }),
	}
	share := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		margin     *float64
		candidates resultfile.Candidates
		use        string
		good       string
		rule       string
		note       string
	}{
		{nil, "", "queue", "", "more than the margin of 5 %", "peer, kept for reference, is"},
		{share(0.2), "", "word", "queue", "more than the margin of 20 %", "peer, kept for reference, is"},
		{share(0), "", "queue", "", "more than the margin of 0 %", "peer, kept for reference, is"},
		{share(1.5), "", "word", "queue", "more than the margin of 150 %", ""},
		{share(-3), "", "queue", "", "more than the margin of 5 %", "peer, kept for reference, is"}, // damage
		{nil, resultfile.CandidatesRecommended, "queue", "", "(--candidates recommended)", "peer, kept for reference, is"},
		{nil, resultfile.CandidatesAll, "peer", "", "(--candidates all)", ""},
		{share(1.5), resultfile.CandidatesAll, "word", "peer queue", "(--candidates all)", ""},
	} {
		run := synthetic.Run(5, 12, 2, []int{8}, models...)
		run.Manifest.Margin, run.Manifest.Candidates = c.margin, c.candidates
		v := findVerdict(t, All(run), "more workers than CPUs")
		if v.Use != c.use || strings.Join(v.AsGood, " ") != c.good {
			t.Errorf("%+v: use %q, as good %q, want %q, %q: %s", c, v.Use, v.AsGood, c.use, c.good, v.Why)
		}
		if rule := numfmt.Plain(Rule(run.Manifest)); !strings.Contains(rule, c.rule) {
			t.Errorf("%+v: the rule says %q, want %q", c, rule, c.rule)
		}
		if note := strings.Join(v.Notes, "; "); !strings.Contains(note, c.note) || strings.Contains(note, "kept for reference") != (c.note != "") {
			t.Errorf("%+v: the notes are %q, want %q", c, note, c.note)
		}
	}
	cases := func(yield func(harness.Lock, harness.Workload) bool) {
		for _, m := range models {
			if !yield(m.Lock, harness.Workload{Workers: 8}) {
				return
			}
		}
	}
	if few, more := PlannedRounds(cases, ""), PlannedRounds(cases, resultfile.CandidatesAll); few != max(stat.SturdyRounds(0.955), stat.MinRounds(1-0.005/4)) || more != stat.SturdyRounds(stat.Level(6)) {
		t.Errorf("%d rounds planned, %d where all may be chosen", few, more)
	}
}

// TestAgreesWithCompare: what a verdict says of each lock beside the leader, the
// comparison with the leader says too.
func TestAgreesWithCompare(t *testing.T) {
	seen := make(map[stat.Reading]bool)
	for seed := range uint64(60) {
		noise := func(m *synthetic.Model) { m.Noise = 0.01 + 0.03*float64(seed%3) }
		run := synthetic.Run(seed, 12, 2, []int{8}, synthetic.With(synthetic.Fast("a", 1e6+4e4*float64(seed%4)), noise), synthetic.With(synthetic.Fast("b", 1e6), noise))
		v := findVerdict(t, All(run), "more workers than CPUs")
		pool := v.about.contest().pool
		leader, other := pool[0], pool[1]
		c, err := compare.Locks(run, leader.Lock.Name, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(c.Rows, func(r compare.Row) bool { return r.Lock.Name == other.Lock.Name })
		said := map[compare.Verdict]stat.Reading{compare.Lesser: stat.Slower, compare.AsGood: stat.AsGood, compare.Untold: stat.Untold}[c.Rows[i].Verdict]
		reading := v.about.contest().read(leader, other)
		if seen[reading] = true; said != reading {
			t.Errorf("seed %d: the verdict says %q of %s, the comparison %q: %+v", seed, reading, other.Lock.Name, c.Rows[i].Verdict, c.Rows[i])
		}
	}
	if len(seen) != 3 {
		t.Errorf("seen %v, want all three readings", seen)
	}
}
