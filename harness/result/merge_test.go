package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/machine"
	"locklab/internal/require"
)

func fewRuns() []*Run {
	seats := oneClock()
	other := workload(8, 4)
	other.Hold.Mean = 0
	return runs(seats, splitHolds(workload(8, 4), drawHolds(1, 8), seats), splitHolds(other, drawHolds(2, 8), seats))
}

func TestRefused(t *testing.T) {
	last := func(edit func(p *Run)) func(ps []*Run) []*Run {
		return func(ps []*Run) []*Run {
			edit(ps[3])
			return ps
		}
	}
	for _, c := range []struct {
		name string
		edit func(ps []*Run) []*Run
		want string // "" accepts
	}{
		{"as it is", func(ps []*Run) []*Run { return ps }, ""},
		{"none", func([]*Run) []*Run { return nil }, "needs the directories of all parts"},
		{"one missing", func(ps []*Run) []*Run { return slices.Delete(ps, 2, 3) }, "the part of rank 2 of 4 is missing"},
		{"three missing", func(ps []*Run) []*Run { return ps[1:2] }, "the parts of ranks 0, 2 and 3 of 4 are missing"},
		{"twice", func(ps []*Run) []*Run { ps[2].Manifest.Rank = 1; return ps }, "rank 1 is there twice, in part-1 and part-2"},
		{"no part", func(ps []*Run) []*Run { ps[2].Manifest.Ranks = 0; return ps }, "part-2 is no part of a run: it was measured by one rank"},
		{"one rank", func(ps []*Run) []*Run { ps[0].Manifest.Ranks = 1; return ps[:1] }, "part-0 is no part of a run: it was measured by one rank"},
		{"merged", last(func(p *Run) { p.Manifest.Parts = make([]Part, 4) }), "part-3 is no part of a run but one that was merged"},
		{"out of range", last(func(p *Run) { p.Manifest.Rank = 4 }), "part-3 is damaged: it claims to be rank 4 of 4"},
		{"numbers of ranks", last(func(p *Run) { p.Manifest.Ranks = 5 }), "different runs, by the number of ranks: 4 and 5"},
		{"jobs", last(func(p *Run) { p.Manifest.Job = "" }), "part-0 and part-3 are of different jobs: j and none"},
		{"seeds", last(func(p *Run) { p.Manifest.Seed = 8 }), "different seeds: 7 and 8"},
		{"schemas", last(func(p *Run) { p.Manifest.Schema = 0 }), "different schemas: 1 and 0"},
		{"commits", last(func(p *Run) { p.Manifest.Commit = "c" }), "different builds: 0123abc and c"},
		{"binaries", last(func(p *Run) { p.Manifest.Binary = "c" }), "different builds: SHA-256 b and c"},
		{"binaries of two architectures", last(func(p *Run) { p.Manifest.Binary, p.Manifest.Machine.Arch = "c", "arm64" }), ""},
		{"modules", last(func(p *Run) { p.Manifest.Versions = map[string]string{"x": "1"} }), "different builds"},
		{"rounds", last(func(p *Run) { p.Manifest.Rounds = 2 }), "different plans: 1 rounds of 2 cases"},
		{"flags", last(func(p *Run) { p.Manifest.Flags["locks"] = "x" }), "different plans"},
		{"windows", last(func(p *Run) { p.Results[0].Workload.Window++ }), "different plans: lock=queue/workers=8/ranks=4/hold=100µs is another case"},
		{"experiments", last(func(p *Run) { p.Findings = []*Finding{{}} }), "part-3 has experiments, simulations or failure scenarios"},
		{"simulations", last(func(p *Run) { p.Simulations = []*Simulation{{}} }), "part-3 has experiments, simulations or failure scenarios"},
	} {
		run, err := Merge(shuffle(5, c.edit(fewRuns())))
		switch {
		case c.want == "" && (err != nil || len(run.Results) != 2):
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want a usage error with %q", c.name, err, c.want)
		}
	}
}

func TestManifest(t *testing.T) {
	parts := fewRuns()
	for _, p := range parts {
		p.Manifest.Warnings = []machine.Warning{{Text: "a guest", Kind: "guest"}, {Text: fmt.Sprint("load ", p.Manifest.Rank), Kind: "load"}}
		p.Manifest.Skipped = []Skip{{Lock: "x", Reason: "no server"}}
	}
	parts[1].Manifest.Interrupted, parts[2].Damage = true, []string{"line 3 was skipped"}
	before := encodeManifests(t, parts)
	run := mergeRuns(t, shuffle(3, parts))
	if encodeManifests(t, parts) != before {
		t.Error("the manifests of the parts have changed")
	}
	m := run.Manifest
	var hosts []string
	for i, p := range m.Parts {
		if p.Rank != i || p.CPU != "Made-up CPU" || p.Commit != "0123abc" {
			t.Errorf("part %d is %+v", i, p)
		}
		hosts = append(hosts, p.Host)
	}
	warnings := Each(m.Warnings, func(w machine.Warning) string { return w.Text })
	if m.IsPart() || m.Ranks != 4 || m.Rank != 0 || m.Job != "j" || !m.Interrupted || len(m.Skipped) != 1 || len(m.Lost) > 0 ||
		!slices.Equal(hosts, []string{"a", "a", "b", "b"}) || !m.Started.Equal(parts[3].Manifest.Started) || !m.Finished.Equal(parts[3].Manifest.Finished) {
		t.Errorf("got %+v", m)
	}
	if want := []string{"on a a guest", "on a load 0", "on b a guest", "on b load 2"}; !slices.Equal(warnings, want) {
		t.Errorf("got the warnings %q, want %q", warnings, want)
	}
	if want := []string{"rank 2 on b: line 3 was skipped"}; !slices.Equal(run.Damage, want) {
		t.Errorf("got the damage %q", run.Damage)
	}
	parts[1].Manifest.Finished = time.Time{}
	parts[1].Manifest.Interrupted = false // a killed rank does not set it
	if m := mergeRuns(t, parts).Manifest; !m.Finished.IsZero() || !m.Interrupted {
		t.Errorf("a part was killed, and the run finished %v, interrupted is %v", m.Finished, m.Interrupted)
	}
}

func encodeManifests(t *testing.T, runs []*Run) (text string) {
	t.Helper()
	for _, r := range runs {
		m, err := json.Marshal(r.Manifest)
		requireNoError(t, err)
		text += string(m)
	}
	return text
}

func TestDropped(t *testing.T) {
	const name = "lock=queue/workers=8/ranks=4/hold=100µs"
	rank := func(p *Run) *Rank { return &p.Results[0].Ranks[0] }
	for _, c := range []struct {
		name string
		edit func(ps []*Run)
		want string // the reason, "" if nothing is dropped
	}{
		{"nothing", func([]*Run) {}, ""},
		{"a little late", func(ps []*Run) { rank(ps[1]).Opened += 19e6; rank(ps[1]).Late = 19e6 }, ""},
		{"missing", func(ps []*Run) { ps[2].Results = ps[2].Results[1:] }, "rank 2 on b has no result of it"},
		{"lost", func(ps []*Run) {
			ps[0].Results = ps[0].Results[1:]
			ps[0].Manifest.Lost = []Loss{{Case: name, Reason: "killed"}}
		}, "rank 0 on a lost it: killed"},
		{"lost by all", func(ps []*Run) {
			for _, p := range ps {
				p.Results = p.Results[1:]
				p.Manifest.Lost = []Loss{{Case: name, Reason: "no server"}}
			}
		}, "rank 0 on a lost it: no server"},
		{"late, by itself", func(ps []*Run) { rank(ps[1]).Late = 40e6 }, "rank 1 on a opened its window 40 ms late, 10 % of it: 5 % is the most"},
		{"late, by the clock", func(ps []*Run) { rank(ps[3]).Opened += 60e6 }, "rank 3 on b opened its window 60 ms after another rank, 15 % of it"},
		{"early", func(ps []*Run) { rank(ps[3]).Closed -= 100e6 }, "rank 3 on b closed its window 100 ms before another rank, 25 % of it"},
		{"twice", func(ps []*Run) { ps[1].Results = append(ps[1].Results, ps[1].Results[0]) }, "rank 1 on a has it 2 times"},
		{"no rank", func(ps []*Run) { ps[1].Results[0].Ranks = nil }, "rank 1 on a has no record of its own part"},
		{"another rank", func(ps []*Run) { rank(ps[1]).Rank = 2 }, "rank 1 on a has no record of its own part"},
		{"another share", func(ps []*Run) { rank(ps[1]).First = 3 }, "rank 1 on a has 2 of its workers, from 3 on, where 2 from 2 on are its share"},
		{"a worker too many", func(ps []*Run) { ps[1].Results[0].Workers = make([]uint64, 3) }, "rank 1 on a has 3 of its workers"},
		{"a worker of others", func(ps []*Run) { ps[1].Results[0].Holds[7].Worker = 2 }, "rank 1 on a is damaged"},
		{"times that overflow", func(ps []*Run) { rank(ps[1]).Offset = -1 << 63 }, "rank 1 on a is damaged"},
		{"a window backwards", func(ps []*Run) { rank(ps[1]).Closed = 0 }, "rank 1 on a is damaged"},
		{"holds out of order", func(ps []*Run) { slices.Reverse(ps[1].Results[0].Holds) }, "rank 1 on a is damaged"},
		{"a hold that ends before it began", func(ps []*Run) { ps[1].Results[0].Holds[7].Releasing = -1 << 63 }, "rank 1 on a is damaged"},
	} {
		parts := fewRuns()
		c.edit(parts)
		run, err := Merge(parts)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		lost := run.Manifest.Lost
		switch {
		case c.want == "" && (len(lost) > 0 || len(run.Results) != 2):
			t.Errorf("%s: lost %v", c.name, lost)
		case c.want != "" && (len(lost) != 1 || len(run.Results) != 1 || lost[0].Case != name || !strings.Contains(lost[0].Reason, c.want)):
			t.Errorf("%s: lost %v of %d results, want %q", c.name, lost, len(run.Results), c.want)
		}
	}
}

func TestBroken(t *testing.T) {
	parts := fewRuns()
	parts[1].Results[0].Violations = []oracle.Violation{{Rule: "crash", Detail: "exit 2", Count: 1, Trace: []string{"panic"}}}
	parts[2].Results[0].Violations = []oracle.Violation{{Rule: "liveness", Detail: "stuck", Count: 3}}
	parts[3].Results = parts[3].Results[1:]
	run, err := Merge(parts)
	if err != nil || len(run.Results) != 2 || len(run.Manifest.Lost) > 0 {
		t.Fatalf("%d results, lost %v (%v)", len(run.Results), run.Manifest.Lost, err)
	}
	r := run.Results[0]
	want := []oracle.Violation{{Rule: "crash", Detail: "rank 1 on a: exit 2", Count: 1, Trace: []string{"panic"}}, {Rule: "liveness", Detail: "rank 2 on b: stuck", Count: 3}}
	if !reflect.DeepEqual(r.Violations, want) || r.Ops != 0 || len(r.Ranks) != 3 || r.Lock.Name != "queue" {
		t.Errorf("got %+v", r)
	}
	if len(run.Results[1].Violations) > 0 {
		t.Errorf("the other case has %v", run.Results[1].Violations)
	}
}

func TestWarningsPooled(t *testing.T) {
	seats := oneClock()
	parts := splitHolds(workload(8, 4), drawHolds(1, 8), seats)
	for i, p := range parts {
		p.Warnings = []machine.Warning{{Text: fmt.Sprintf("steal %d %%", i), Kind: "steal"}, {Text: "others 40 %", Kind: "others"}, {Text: "plain"}}
		p.CPU.Time = window / 5 * 4 // of one processor of two
		p.Noise = &machine.Noise{Window: window, CPUs: 2, Others: 0.4, Steal: -1, Pressure: -1}
	}
	texts := func() []string {
		return Each(newGroup(parts).merge().Warnings, func(w machine.Warning) string { return w.Text })
	}
	if got, want := texts(), []string{"on a steal 0 %", "on a plain", "on b steal 2 %", "on b plain"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	parts[2].Noise.Others = 0.9
	if got := texts(); len(got) != 5 || !strings.Contains(got[4], "other processes") || !strings.Contains(got[4], "50 %") {
		t.Errorf("a third process used half: got %q", got)
	}
}

// TestMachines: ranks of one machine, under any name, are not others; equal host names may be.
func TestMachines(t *testing.T) {
	for _, c := range []struct {
		name         string
		hosts, boots [4]string
		others       float64 // on all
		wantWarning  bool
	}{
		{"two machines of one name", [4]string{"localhost", "localhost", "localhost", "localhost"}, [4]string{"1", "1", "2", "2"}, 0.9, true},
		{"containers of one machine", [4]string{"a", "b", "c", "d"}, [4]string{"1", "1", "1", "1"}, 1.2, false},
	} {
		seats := oneClock()
		for i := range seats {
			seats[i].host, seats[i].clock = c.hosts[i], c.boots[i]+" time:[1]"
		}
		parts := splitHolds(workload(8, 4), drawHolds(1, 8), seats)
		for _, p := range parts {
			p.CPU.Time = window / 5 * 4 // of one processor of two: 40 %
			p.Noise = &machine.Noise{Window: window, CPUs: 2, Others: c.others, Steal: -1, Pressure: -1}
		}
		warned := slices.ContainsFunc(newGroup(parts).merge().Warnings, func(w machine.Warning) bool { return w.Kind == othersKind })
		require.Equal(t, fmt.Sprintf("%s: a warning of others", c.name), warned, c.wantWarning)
	}
}
