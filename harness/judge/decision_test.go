package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/internal/stat"
	"locklab/internal/synthetic"
)

func withStatus(s harness.Status) func(*synthetic.Model) {
	return func(m *synthetic.Model) { m.Lock.Status = s }
}

func addNoise(m *synthetic.Model) { m.Noise = 0.1 }

func setBlocking(m *synthetic.Model) {
	m.Lock.Family, m.Lock.Complexity = harness.Blocking, harness.Standard
}

func decideOn(t *testing.T, run *result.Run, situation string) Decision {
	t.Helper()
	ds := slices.DeleteFunc(Decisions(run), func(d Decision) bool { return d.Situation.Name() != situation })
	if len(ds) == 0 {
		t.Fatalf("no decision on %q", situation)
	}
	return ds[0]
}

func joinKinds(ps []Price) string {
	return strings.Join(result.Each(ps, func(p Price) string { return string(p.Kind) }), " ")
}

func TestDecisions(t *testing.T) {
	mutex := synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking)
	blocking := func(name string, rate float64, more ...func(*synthetic.Model)) synthetic.Model {
		return synthetic.With(synthetic.Fast(name, rate), append([]func(*synthetic.Model){setBlocking}, more...)...)
	}
	handles := func(m *synthetic.Model) { m.Lock.Traits.Handles = true }
	wild := func(m *synthetic.Model) { m.Noise = 1 }
	unfair := func(m *synthetic.Model) { m.Skew = 30 }
	var many []synthetic.Model // too many for intervals of all pairs
	for i := range 14 {
		many = append(many, blocking(fmt.Sprint("slow", i), 5e5))
	}
	many = slices.Clip(many)
	for _, c := range []struct {
		name                       string
		models                     []synthetic.Model
		rule                       Rule
		use, fastest, ties, prices string
	}{
		{"a faster lock", []synthetic.Model{mutex, blocking("fast", 2e6), blocking("slow", 5e5)}, BySpeed, "fast", "fast", "", ""},
		{"a faster lock of status reference", []synthetic.Model{mutex, blocking("fast", 2e6, withStatus(harness.Correct))}, BySpeed, "fast", "fast", "", ""},
		{"a faster spin lock, a cheaper one far behind", []synthetic.Model{mutex, blocking("a", 1.3e6), synthetic.With(synthetic.Fast("spin", 2e6), func(m *synthetic.Model) { m.Noise = 1.0 })}, BySpeed, "spin", "spin", "", "polls"},
		{"a faster lock with handles", []synthetic.Model{mutex, blocking("fast", 2e6, handles)}, BySpeed, "fast", "fast", "", "handles"},
		{"a faster and unfair lock", []synthetic.Model{mutex, blocking("fast", 2e6, unfair)}, BySpeed, "fast", "fast", "", "unfair"},
		{"two fast locks", []synthetic.Model{mutex, blocking("a", 2e6), blocking("b", 2.002e6)}, BySpeed, "b", "b", "a", ""},
		{"a dearer lock that is not significantly faster", []synthetic.Model{mutex, blocking("a", 2e6), blocking("b", 2.002e6, handles)}, BySpeed, "a", "a", "b", ""},
		{"a dearer lock that is significantly faster", []synthetic.Model{mutex, blocking("a", 2e6), blocking("b", 2.8e6, handles)}, BySpeed, "b", "b", "", "handles"},
		{"a dearer lock that is a little faster", []synthetic.Model{mutex, blocking("a", 2e6), blocking("b", 2.3e6, handles)}, BySpeed, "a", "a", "", ""},
		{"a cheaper lock whose gain varies", []synthetic.Model{mutex, blocking("a", 1.5e6, func(m *synthetic.Model) { m.Noise = 0.6 }), synthetic.Fast("b", 2e6)}, BySpeed, "a", "b", "b", ""},
		{"a cheaper lock that may be slow", []synthetic.Model{mutex, blocking("a", 1.5e6, func(m *synthetic.Model) { m.Noise = 1.2 }), synthetic.Fast("b", 2e6)}, BySpeed, "b", "b", "a", "polls"},
		{"a trait counts more than a figure", []synthetic.Model{mutex, blocking("a", 2e6, unfair), synthetic.Fast("b", 2.002e6)}, BySpeed, "a", "a", "b", "unfair"},
		{"the same with noise, at the level of one with all others", append(many, mutex, blocking("a", 2e6), blocking("b", 2.6e6, handles, func(m *synthetic.Model) { m.Noise = 0.05 })), BySpeed, "b", "b", "", "handles"},
		{"equal ones among many locks", append(many, mutex, blocking("a", 2e6), blocking("b", 2.002e6, handles)), BySpeed, "a", "a", "b", ""},
		{"a cheap lock behind a precise one", []synthetic.Model{mutex, blocking("a", 1.4e6), blocking("b", 2e6, handles), blocking("c", 4.5e6, handles, wild)}, BySpeed, "c", "c", "b", "handles"},
		{"within the tolerance", []synthetic.Model{mutex, blocking("fast", 1.03e6)}, ByDefault, DefaultBaseline, "fast", "fast", ""},
		{"significantly faster, perhaps by less than the tolerance", []synthetic.Model{mutex, blocking("fast", 1.14e6, addNoise)}, ByDefault, DefaultBaseline, "fast", "fast", ""},
		{"nothing is faster", []synthetic.Model{mutex, blocking("slow", 5e5)}, ByDefault, DefaultBaseline, DefaultBaseline, "", ""},
		{"noise", []synthetic.Model{mutex, blocking("wild", 1.6e6, func(m *synthetic.Model) { m.Noise = 0.8 })}, ByDefault, DefaultBaseline, "wild", "wild", ""},
		{"a faster one behind a noisy one", []synthetic.Model{mutex, blocking("wild", 4e6, func(m *synthetic.Model) { m.Noise = 5 }), blocking("fast", 2e6)}, BySpeed, "fast", "fast", "wild", ""},
		{"only one lock", []synthetic.Model{blocking("a", 1e6)}, OneLock, "", "a", "", ""},
		{"only the default", []synthetic.Model{mutex}, OneLock, "", DefaultBaseline, "", ""},
		{"without the default", []synthetic.Model{blocking("a", 1e6), blocking("b", 2e6)}, NoDefault, "", "b", "", ""},
		{"faster ones that do not compete", []synthetic.Model{mutex, blocking("a", 9e6, withStatus(harness.Control)), blocking("b", 9e6, withStatus(harness.Historical)),
			blocking("c", 9e6, withStatus(harness.Broken)), blocking("d", 9e6, withStatus("new")), blocking("e", 2e6)}, BySpeed, "e", "e", "", ""},
		{"only a control", []synthetic.Model{synthetic.With(synthetic.Fast("a", 1e6), withStatus(harness.Control))}, NoLock, "", "", "", ""},
		{"nothing acquired", []synthetic.Model{blocking("a", 0)}, NoLock, "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decideOn(t, synthetic.Run(5, 12, 2, []int{1, 2, 8}, c.models...), string(Oversubscribed))
			if d.Rule != c.rule || d.Use != c.use || d.Fastest != c.fastest || strings.Join(d.Ties, " ") != c.ties {
				t.Errorf("%s: use %q, fastest %q, ties %q", d.Rule, d.Use, d.Fastest, d.Ties)
			}
			if strings.HasPrefix(c.name, "significantly faster") && (d.Gain == nil || d.Gain.Reading != Faster) {
				t.Errorf("the gain is %+v, want one that is significant", d.Gain)
			}
			if c.rule == BySpeed && joinKinds(d.Prices) != c.prices {
				t.Errorf("prices %q, want %q", joinKinds(d.Prices), c.prices)
			}
			if c.use != "" && (d.Rate == nil || d.Rate.N != 12 || !(d.Rate.Lo <= d.Rate.Median && d.Rate.Median <= d.Rate.Hi)) {
				t.Errorf("rate %+v", d.Rate)
			}
			if c.rule == BySpeed && (d.Gain == nil || d.Gain.Lo < 1.5 || d.Over != DefaultBaseline) {
				t.Errorf("%+v times the rate of %q", d.Gain, d.Over)
			}
		})
	}
}

func TestReadersHaveTheirDefault(t *testing.T) {
	run := synthetic.Run(5, 12, 2, []int{8}, synthetic.With(synthetic.Fast("sync-rwmutex", 2e6), setBlocking), synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking))
	run.Results = setHold(run, 100*time.Nanosecond, 90)
	if d := decideOn(t, run, "mostly readers"); d.Use != "sync-rwmutex" || d.Rule != ByDefault {
		t.Errorf("%s: use %q", d.Rule, d.Use)
	}
}

func TestTolerance(t *testing.T) {
	for tolerance, want := range map[float64]string{0: "fast", 0.05: "fast", 0.2: DefaultBaseline} {
		run := synthetic.Run(5, 12, 2, []int{8}, synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking), synthetic.With(synthetic.Fast("fast", 1.1e6), setBlocking))
		run.Manifest.Tolerance = &tolerance
		require.Equal(t, fmt.Sprintf("tolerance %v: use", tolerance), decideOn(t, run, string(Oversubscribed)).Use, want)
	}
}

// TestFewRounds: without the rounds for an interval there is no recommendation.
func TestFewRounds(t *testing.T) {
	local := []synthetic.Model{synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking), synthetic.Fast("a", 5e6), synthetic.Fast("b", 1e6), synthetic.Fast("c", 1e6)}
	server := func(name string, rate float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, harness.Redis, "redis"), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	}
	for _, models := range [][]synthetic.Model{local, {server("p", 1000), server("q", 500), server("r", 400), server("s", 300)}} {
		for rounds, want := range map[int]bool{stat.MinRounds: true, stat.MinRounds - 1: false} {
			ds := Decisions(synthetic.Run(1, rounds, 2, []int{8}, models...))
			if d := ds[0]; (d.Use != "") != want || (d.Rule == FewRounds) == want || d.Rounds != rounds || d.Needed != stat.MinRounds {
				t.Errorf("%d rounds: %s, use %q, %d of %d rounds", rounds, d.Rule, d.Use, d.Rounds, d.Needed)
			}
		}
	}
}

// TestEqualLocksLeaveTheDefault: among equal locks, at most 5 % of runs recommend another.
func TestEqualLocksLeaveTheDefault(t *testing.T) {
	const runs = 300
	wrong := 0
	for seed := range uint64(runs) {
		models := []synthetic.Model{synthetic.With(synthetic.Fast(DefaultBaseline, 1e5), setBlocking, addNoise)}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			models = append(models, synthetic.With(synthetic.Fast(name, 1e5), setBlocking, addNoise))
		}
		if decideOn(t, synthetic.Run(seed, 8, 2, []int{8}, models...), string(Oversubscribed)).Rule != ByDefault {
			wrong++
		}
	}
	if wrong > runs/20 {
		t.Errorf("%d of %d runs of equal locks recommend another lock", wrong, runs)
	}
}

func TestContendedRemote(t *testing.T) {
	greedy := synthetic.Model{Lock: synthetic.Served("greedy", harness.Redis, "redis"), Rate: synthetic.Constant(9000), Handed: 0.01, Skew: 3, Noise: 0.02}
	queue := synthetic.Model{Lock: synthetic.Served("queue", harness.ZooKeeper, "zookeeper"), Rate: synthetic.Constant(900), Handed: 1, Noise: 0.02}
	run := synthetic.Run(1, 10, 2, []int{1, 8}, greedy, queue)
	require.Equal(t, "uncontended: use", decideOn(t, run, "distributed, uncontended").Use, "greedy")
	require.Equal(t, "contended: use", decideOn(t, run, "distributed, contended").Use, "queue")
}

func TestAcross(t *testing.T) {
	mutex := synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking)
	runs := result.Each([]float64{2e6, 2e6, 5e5}, func(rate float64) *result.Run {
		return synthetic.Run(5, 12, 2, []int{8}, mutex, synthetic.Fast("a", rate))
	})
	rows := Across(runs)
	if len(rows) != 1 || !slices.EqualFunc(rows[0].Tallies(), [][]string{{"a", "a"}, {DefaultBaseline}}, slices.Equal) {
		t.Errorf("rows %+v", rows)
	}
	few := synthetic.Run(5, 3, 2, []int{8}, mutex, synthetic.Fast("a", 2e6))
	require.Equal(t, "the power", PowerOf(slices.Concat(Tables(runs[0], ""), Tables(few, ""))), Power{Large: 2, Significant: 1})
	if rows := Across([]*result.Run{few}); !slices.Equal(rows[0].Choices, []string{""}) {
		t.Errorf("too few rounds: %+v", rows)
	}
}

func setHold(run *result.Run, hold time.Duration, reads int) []*result.Result {
	for _, r := range run.Results {
		r.Workload.Hold.Mean, r.Workload.Reads = hold, reads
	}
	return run.Results
}
