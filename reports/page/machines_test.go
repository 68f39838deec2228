package page

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// The runs of two "machines": one machine whose Go scheduler used one processor and two.
var machineRuns = []string{"../testdata/machines/one-processor", "../testdata/machines/two-processors"}

func loadMachines(folders ...string) []chart.Machine {
	runs := result.Each(folders, func(f string) *result.Run { return must(result.Load(f)) })
	return nameMachines(runs, folders)
}

func TestMachineNames(t *testing.T) {
	host := func(h string) *result.Run {
		return &result.Run{Manifest: result.Manifest{Machine: machine.Environment{Host: h}}}
	}
	for _, c := range []struct{ hosts, folders, want []string }{
		{[]string{"a", "b"}, []string{"x/1", "x/2"}, []string{"a", "b"}},
		{[]string{"a", "a"}, []string{"x/1", "x/2"}, []string{"1", "2"}},
		{[]string{"", "b"}, []string{"x/1", "x/2"}, []string{"1", "2"}},
		{[]string{"a", "a"}, []string{"x/run", "y/run"}, []string{"x/run", "y/run"}},
		{[]string{"a", "a"}, []string{"run", "run"}, []string{"run (1)", "run (2)"}},
	} {
		got := result.Each(nameMachines(result.Each(c.hosts, host), c.folders), func(m chart.Machine) string { return m.Name })
		if !slices.Equal(got, c.want) {
			t.Errorf("hosts %q in %q are called %q, want %q", c.hosts, c.folders, got, c.want)
		}
	}
}

// nameAlike returns runs that differ by chance.
func nameAlike(names ...string) []chart.Machine {
	var runs []*result.Run
	for seed := range names {
		runs = append(runs, synthetic.Run(uint64(seed+1), 2, 2, []int{1, 2, 4}, synthetic.Fast("mcs", 1e6), synthetic.Fast("ticket", 2e6), synthetic.Fast("mutex", 3e6)))
	}
	return nameMachines(runs, names)
}

func TestDifferences(t *testing.T) {
	texts := func(ms []chart.Machine) string {
		var out []string
		for _, d := range composeMachines(ms).Differences {
			if d.Remedy == "" || !strings.HasSuffix(d.Text, ".") {
				t.Errorf("no remedy, or no sentence: %+v", d)
			}
			out = append(out, d.Text)
		}
		return strings.Join(out, "\n")
	}
	require.Equal(t, "two like runs", texts(nameAlike("a", "b")), "")
	for want, change := range map[string]func(m *result.Run){
		"GOMAXPROCS: 2 on a; 1 on b.":              func(r *result.Run) { r.Manifest.Machine.GOMAXPROCS = 1 },
		"Governor: – on a; powersave on":           func(r *result.Run) { r.Manifest.Machine.Governor = "powersave" },
		"Turbo: ":                                  func(r *result.Run) { r.Manifest.Machine.Turbo = "on" },
		"Go: go0.0 on a; go9 on b.":                func(r *result.Run) { r.Manifest.Machine.Go = "go9" },
		"Locklab: 0123abc on a; f00 on b.":         func(r *result.Run) { r.Manifest.Commit = "f00" },
		"Redis: – on a; 7 on b.":                   func(r *result.Run) { r.Manifest.Versions = map[string]string{"redis": "7"} },
		"b has 2 simulations, which are not shown": func(r *result.Run) { r.Simulations = simulatedRun().Simulations[:2] },
		"Not measured on b, but elsewhere: mutex": func(r *result.Run) {
			r.Results = slices.DeleteFunc(r.Results, func(r *result.Result) bool { return r.Lock.Name == "mutex" })
		},
		"On b these locks broke a promise, and are in no chart of it: mcs.": func(r *result.Run) {
			r.Results[0].Violations = []oracle.Violation{{Rule: "exclusion", Count: 1}}
		},
		"Measured: 2 rounds of 1s, shuffled on a; 2 rounds of 2s": func(r *result.Run) {
			for _, x := range r.Results {
				x.Workload.Window *= 2
			}
		},
	} {
		ms := nameAlike("a", "b")
		change(ms[1].Run)
		if got := texts(ms); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func machinesOf(ms []chart.Machine) *Document {
	return &Document{form: "machines", data: composeMachines(ms)}
}

// TestMachinesOfAnyKind: runs with little in common are drawn, or noted.
func TestMachinesOfAnyKind(t *testing.T) {
	alike := nameAlike("a", "b")
	for _, r := range slices.Concat(alike[0].Run.Results, alike[1].Run.Results) {
		r.ClockFloor, r.Wait = 1e9, result.Histogram{{Value: 1, N: 1000}}
	}
	other := synthetic.Run(3, 2, 64, []int{8, 16}, synthetic.Fast("mcs", 1e6))
	for _, r := range other.Results {
		r.Workload.Hold.Mean = time.Second
	}
	for name, c := range map[string]struct {
		ms   []chart.Machine
		want string
	}{
		"nothing shared": {nameMachines([]*result.Run{alike[0].Run, other}, []string{"a", "b"}), "No two of these runs measured the same workload"},
		"both empty":     {nameMachines([]*result.Run{{}, {}}, []string{"a", "b"}), "No two of these runs measured the same workload"},
		"no common workers": {nameMachines([]*result.Run{
			synthetic.Run(1, 2, 2, []int{1}, synthetic.Fast("mcs", 1e6)), synthetic.Run(2, 2, 2, []int{2}, synthetic.Fast("mcs", 1e6))}, []string{"a", "b"}), "The machines share no number of workers"},
		"idle": {nameMachines([]*result.Run{
			synthetic.Run(1, 2, 2, []int{1, 2}, synthetic.Fast("mcs", 0)), synthetic.Run(2, 2, 2, []int{1, 2}, synthetic.Fast("mcs", 0))}, []string{"a", "b"}), "No lock that two machines share has a figure here."},
		"three":  {nameMachines([]*result.Run{alike[0].Run, alike[1].Run, other}, []string{"a", "b", "c"}), "≤ 5\u00a0s), the same as mutex and mcs; on b"},
		"remote": {nameMachines([]*result.Run{gallery(2), gallery(2)}, []string{"a", "b"}), "machines-throughput-distributed"},
	} {
		text := fmt.Sprint(formsOf(t, machinesOf(c.ms)))
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: the report lacks %q", name, c.want)
		}
		require.Equal(t, name, findUnformatted(text), "")
	}
	if _, err := Machines([]*result.Run{other}, []string{"a"}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("one machine: got %v, want a usage error", err)
	}
}
