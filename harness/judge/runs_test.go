package judge

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/require"
)

// TestAlarms: alarms among equal cases are as rare as alpha; a slowed case is found.
func TestAlarms(t *testing.T) {
	const runs, cases, rounds = 200, 5, 12
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(slow float64) *result.Run {
		locks := make(rates)
		for i := range cases {
			var xs []float64
			for range rounds {
				xs = append(xs, 1e6*slow*math.Exp(0.03*random.NormFloat64()))
			}
			locks[string(rune('a'+i))] = xs
		}
		return madeRun(locks)
	}
	none := 0.0 // no threshold: the test alone must do it
	for _, paired := range []bool{false, true} {
		alarms, found := 0, 0
		for range runs {
			base, same, slow := draw(1), draw(1), draw(0.85)
			if paired {
				base.Manifest.Pair, same.Manifest.Pair, slow.Manifest.Pair = "p", "p", "p"
			}
			if c, _ := Compare(base, same, CompareOptions{Tolerance: &none}); c.Outcome() == Worse {
				alarms++
			}
			if c, _ := Compare(base, slow, CompareOptions{}); c.Outcome() == Worse {
				found++
			}
		}
		// 5 % of 200 runs are 10 alarms, on one side 5; 20 would come up in one of 10^5 seeds.
		if alarms > 20 || found != runs {
			t.Errorf("paired %v: %d false alarms and %d true ones in %d runs", paired, alarms, found, runs)
		}
	}
}

func TestWarnings(t *testing.T) {
	xs := rates{"x": spreadAround(1e6, 0.02, 10)}
	find := func(edit func(base, new *result.Run)) string {
		a, b := madeRun(xs), madeRun(xs)
		edit(a, b)
		c, err := Compare(a, b, CompareOptions{})
		requireNoError(t, err)
		return strings.Join(c.Warnings, "\n")
	}
	for _, c := range []struct {
		edit func(a, b *result.Run)
		want string
	}{
		{func(a, b *result.Run) { a.Manifest.Machine.Kernel, b.Manifest.Machine.Kernel = "6.1", "6.18" }, "kernel 6.1 and 6.18"},
		{func(a, b *result.Run) { a.Manifest.Machine.CPU = "AMD EPYC" }, "CPU AMD EPYC and unknown"},
		{func(a, b *result.Run) { b.Manifest.Machine.GOMAXPROCS = 4 }, "GOMAXPROCS 0 and 4"},
		{func(a, b *result.Run) { b.Manifest.Versions = map[string]string{"redis": "7.2.4"} }, "Redis unknown and 7.2.4"},
		{func(a, b *result.Run) { b.Results[0].Workload.Window = 2 * time.Second }, "window 1s and 2s"},
		{func(a, b *result.Run) { a.Manifest.Interrupted = true }, "BASE did not run to its end"},
		{func(a, b *result.Run) { b.Manifest.Finished = time.Time{} }, "NEW did not run to its end"},
		{func(a, b *result.Run) { b.Damage = []string{"line 3"} }, "NEW has 1 line"},
		{func(a, b *result.Run) { b.Simulations = []*result.Simulation{{}, {}} }, "2 simulations of NEW were left out: only what was measured is compared"},
		{func(a, b *result.Run) { b.Manifest.Started = a.Manifest.Started.Add(50 * time.Hour) }, "measured 2 days apart"},
		{func(a, b *result.Run) {}, "--interleave"},
	} {
		if got := find(c.edit); !strings.Contains(got, c.want) {
			t.Errorf("%q is not in %q", c.want, got)
		}
	}
	if got := find(func(a, b *result.Run) {
		a.Manifest.Pair, b.Manifest.Pair = "p", "p"
		a.Manifest.Commit, b.Manifest.Commit = "1", "2"
	}); got != "" {
		t.Errorf("two builds in the same rounds: %q", got)
	}
}

func TestTwoMachines(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(e *machine.Environment)
		anyHost bool
		want    Verdict
	}{
		{"one machine", func(*machine.Environment) {}, false, Regressed},
		{"kernel", func(e *machine.Environment) { e.Kernel = "7" }, false, Regressed},
		{"CPU", func(e *machine.Environment) { e.CPU = "Test 8" }, true, Elsewhere},
		{"number of CPUs", func(e *machine.Environment) { e.CPUs = 64 }, true, Elsewhere},
		{"CPU limit", func(e *machine.Environment) { e.CPULimit = 0.5 }, true, Elsewhere},
		{"GOMAXPROCS", func(e *machine.Environment) { e.GOMAXPROCS = 1 }, true, Elsewhere},
		{"host", func(e *machine.Environment) { e.Host = "b" }, false, Elsewhere},
		{"name of the host", func(e *machine.Environment) { e.Host = "b" }, true, Regressed},
	} {
		for _, slower := range []float64{0.5, 1, 2} {
			a, b := madeRun(rates{"x": spreadAround(1e6, 0.01, 10)}), madeRun(rates{"x": spreadAround(slower*1e6, 0.01, 10)})
			c.edit(&b.Manifest.Machine)
			got, err := Compare(a, b, CompareOptions{AnyHost: c.anyHost})
			requireNoError(t, err)
			want := map[float64]Verdict{0.5: Regressed, 1: NotWorse, 2: Better}[slower]
			if c.want == Elsewhere {
				want = Elsewhere
			}
			if v := got.Rows[0].Verdict; v != want || want == Elsewhere && got.Outcome() != Unsure {
				t.Errorf("%s, %v times as fast: %s, outcome %s, want %s", c.name, slower, v, got.Outcome(), want)
			}
			if one := a.Manifest.Machine.Identity(c.anyHost) == b.Manifest.Machine.Identity(c.anyHost); one != (c.want == Regressed) {
				t.Errorf("%s: one machine is %v in a history", c.name, one)
			}
		}
		a, b := madeRun(rates{"x": spreadAround(1e6, 0.01, 10)}), madeRun(rates{"x": spreadAround(1e6, 0.01, 10)})
		c.edit(&b.Manifest.Machine)
		b.Results[0].Violations = []oracle.Violation{{Rule: "exclusion", Detail: "two holders", Count: 1}}
		if got, err := Compare(a, b, CompareOptions{AnyHost: c.anyHost}); err != nil || got.Outcome() != Worse {
			t.Errorf("%s, a broken promise: %v", c.name, err)
		}
	}
}

func TestMetrics(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range Metrics {
		if seen[m.Name] || m.Better != result.Higher && m.Better != result.Lower {
			t.Errorf("%s is listed twice, or better in neither direction", m.Name)
		}
		seen[m.Name] = true
	}
	ms, err := FindMetrics([]string{"wait-p99", "throughput", "wait-p99"})
	if err != nil || len(ms) != 2 || ms[0] != result.Throughput || ms[1] != result.P99 {
		t.Errorf("%v, %v", ms, err)
	}
	for _, names := range [][]string{{"nosuch"}, {""}, {"jain", "Jain"}} {
		if _, err := FindMetrics(names); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q: %v", names, err)
		}
	}
}

var requireNoError = require.NoError
