package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/stat"
	"locklab/internal/synthetic"
)

func tableOf(t *testing.T, run *result.Run) Table {
	t.Helper()
	ts := Tables(run, run.Baseline)
	if len(ts) != 1 {
		t.Fatalf("%d tables, want 1", len(ts))
	}
	return ts[0]
}

func tableReadings(t Table) (out []string) {
	for _, r := range t.Rows {
		line := r.Lock
		for _, x := range r.Ratios {
			if x == nil {
				line += " -"
				continue
			}
			line += " " + string(x.Reading)
		}
		out = append(out, line)
	}
	return out
}

func TestTable(t *testing.T) {
	run := synthetic.Run(5, 14, 2, []int{1, 2, 8},
		synthetic.With(synthetic.Fast("sync-mutex", 1e6), setBlocking), synthetic.Fast("even", 1e6),
		synthetic.With(synthetic.Fast("fast", 2e6), withStatus(harness.Correct)), synthetic.With(synthetic.Fast("nothing", 9e6), withStatus(harness.Control)),
		synthetic.With(synthetic.Fast("slow", 4e5), withStatus(harness.Historical)), synthetic.With(synthetic.Fast("wild", 1.1e6), func(m *synthetic.Model) { m.Noise = 0.2 }),
		synthetic.With(synthetic.Fast("wrong", 9e6), withStatus(harness.Broken), func(m *synthetic.Model) { m.Breaks = true }))
	table := tableOf(t, run)
	got := tableReadings(table)
	if want := "nothing faster faster faster|fast faster faster faster|slow slower slower slower|wrong - - -"; !slices.Equal(slices.DeleteFunc(slices.Clone(got), func(s string) bool {
		return strings.HasPrefix(s, "even") || strings.HasPrefix(s, "wild") || strings.HasPrefix(s, "sync-mutex")
	}), strings.Split(want, "|")) || len(got) != 7 {
		t.Errorf("rows %q", got)
	}
	for i := 1; i < len(table.Rows)-1; i++ {
		if table.Rows[i-1].ratio(table.Detail) < table.Rows[i].ratio(table.Detail) {
			t.Errorf("%s is before %s", table.Rows[i-1].Lock, table.Rows[i].Lock)
		}
	}
	for _, c := range table.Columns {
		if c.Level != stat.Level(15) {
			t.Errorf("the level of %d workers is %v", c.Workers, c.Level)
		}
	}
	last := table.Rows[len(table.Rows)-1]
	if last.Violated != 3 || last.Results != 3*14 || last.Rule == "" {
		t.Errorf("the broken lock: %+v", last)
	}
	for _, r := range table.Rows {
		for i, x := range r.Ratios {
			if r.Lock == table.Baseline && (x.Median != 1 || x.Reading != Equivalent) {
				t.Errorf("the baseline is %+v of itself", x)
			}
			if x != nil && (x.N != 14 || !(x.Lo <= x.Median && x.Median <= x.Hi)) {
				t.Errorf("%s in column %d: %+v", r.Lock, i, x)
			}
		}
		if r.Violated == 0 && (r.P99 == nil || r.Jain == nil || r.CPU == nil || r.P99.N == 0) {
			t.Errorf("%s lacks a figure: %+v", r.Lock, r)
		}
	}
}

func TestViolatorElsewhere(t *testing.T) {
	run := synthetic.Run(5, 8, 2, []int{8}, synthetic.Fast("a", 1e6), synthetic.Fast("b", 2e6))
	other := synthetic.Run(6, 1, 2, []int{8}, synthetic.Fast("b", 2e6)).Results[0]
	other.Workload.Hold.Mean = time.Millisecond
	other.Violations = []oracle.Violation{{Rule: "liveness", Detail: "seen", Count: 1}}
	run.Results = append(run.Results, other)
	rows := tableOf(t, run).Rows
	if last := rows[len(rows)-1]; len(rows) != 2 || last.Lock != "b" || last.Violated != 1 || last.Results != 9 || last.Rule != "liveness" || last.Ratios[0] != nil {
		t.Errorf("rows %+v", rows)
	}
}

// TestBaseline: the named lock, else sync.Mutex; between processes the fastest peer.
func TestBaseline(t *testing.T) {
	peer := func(name string, rate float64) synthetic.Model {
		return synthetic.With(synthetic.Model{Lock: synthetic.Served(name, harness.Peer, "redis"), Rate: synthetic.Constant(rate), Handed: 1}, withStatus(harness.Correct))
	}
	own := synthetic.Model{Lock: synthetic.Served("own", harness.Redis, "redis"), Rate: synthetic.Constant(900), Handed: 1}
	mutex := synthetic.With(synthetic.Fast(DefaultBaseline, 1e6), setBlocking)
	for _, c := range []struct {
		name        string
		models      []synthetic.Model
		asked, want string
		metric      *result.Metric
	}{
		{"the default", []synthetic.Model{synthetic.Fast("a", 2e6), mutex}, "", DefaultBaseline, result.Throughput},
		{"named", []synthetic.Model{synthetic.Fast("a", 2e6), mutex}, "a", "a", result.Throughput},
		{"named, of another group", []synthetic.Model{synthetic.Fast("a", 2e6), mutex}, "own", DefaultBaseline, result.Throughput},
		{"the first that is named", []synthetic.Model{synthetic.Fast("a", 3e6), synthetic.Fast("d", 2e6), synthetic.Fast("c", 3e6)}, "", "d", result.Throughput},
		{"the first by name", []synthetic.Model{synthetic.Fast("b", 2e6), synthetic.Fast("a", 3e6)}, "", "a", result.Throughput},
		{"the fastest that others wrote", []synthetic.Model{own, peer("p", 300), peer("q", 600)}, "", "q", result.Handovers},
		{"no other", []synthetic.Model{own}, "", "own", result.Handovers},
	} {
		run := synthetic.Run(5, 8, 2, []int{8}, c.models...)
		run.Baseline, run.Manifest.Flags = c.asked, map[string]string{"locks": "x,y|d,c"}
		table := tableOf(t, run)
		if got := table.Columns[table.Detail].Metric; table.Baseline != c.want || got != c.metric.Name {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, table.Baseline, got, c.want, c.metric.Name)
		}
	}
}

// TestLongest: no wait is longer than the longest, whether it ends in the window or not.
func TestLongest(t *testing.T) {
	for _, c := range []struct{ unserved, wait, want int64 }{{70, 50, 70}, {70, 90, 90}} {
		run := synthetic.Run(5, 6, 2, []int{8}, synthetic.Fast("a", 1e6))
		for _, r := range run.Results {
			r.Unserved = time.Duration(c.unserved) * time.Millisecond
			r.Wait = result.Histogram{{Value: 1000, N: 2000}, {Value: c.wait * 1e6, N: 1}}
		}
		if r := tableOf(t, run).Rows[0]; r.Longest.Value != float64(c.want*1e6) || r.Longest.N != 6 {
			t.Errorf("%d ms without an acquisition and a wait of %d ms: the longest is %+v, want %d ms", c.unserved, c.wait, *r.Longest, c.want)
		}
	}
}

// TestUndecided: a ratio has too few rounds, or an interval around 1.
func TestUndecided(t *testing.T) {
	for want, c := range map[Significance]struct {
		rounds int
		noise  float64
	}{TooFew: {3, 0}, Noisy: {8, 0.1}} {
		run := synthetic.Run(5, c.rounds, 2, []int{8}, synthetic.Fast("a", 1e6), synthetic.With(synthetic.Fast("b", 1e6), func(m *synthetic.Model) { m.Noise = c.noise }))
		for _, r := range tableOf(t, run).Rows {
			if x := r.Ratios[0]; r.Lock == "b" && (x.Reading != want || (x.Lo == 0) != (want == TooFew) || x.Median == 0 || x.P < 0.05) {
				t.Errorf("%d rounds with noise of %v: %+v, want %s", c.rounds, c.noise, x, want)
			}
		}
	}
}
