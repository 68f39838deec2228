package page

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// chaosRun returns a run with synthetic failure scenarios and one history.
func chaosRun(t *testing.T) *result.Run {
	t.Helper()
	onZooKeeper := func(m *synthetic.Model) {
		m.Lock.Family, m.Lock.Traits.Needs = harness.ZooKeeper, harness.KindZooKeeper
	}
	run := synthetic.Run(5, 12, 2, []int{1, 8}, remoteModel("redis-lock", 1500), remoteModel("redis-queue", 1900),
		remoteModel("zk-lock", 700, onZooKeeper), remoteModel("zk-handoff", 1100, onZooKeeper))
	run.Dir, run.Faults = t.TempDir(), synthetic.Faults()
	saveHistory(t, run, writtenBy(t, failoverHistory().Write))
	return run
}

func saveHistory(t *testing.T, run *result.Run, text string) {
	t.Helper()
	name := filepath.Join(run.Dir, synthetic.HistoryName)
	require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)))
}

func faultResultOn(run *result.Run, scenario, lock string) *result.FaultResult {
	return run.Faults[slices.IndexFunc(run.Faults, func(f *result.FaultResult) bool { return f.Scenario == scenario && f.Lock.Name == lock })]
}

func safetyOn(run *result.Run, lock string) (s *safetySection, first string, row safetyLock) {
	run = chart.Sanitize(run)
	s = composeSafety(run)
	for _, l := range s.Locks {
		if l.Name == lock {
			row = l
		}
	}
	return s, headlineOf(run), row
}

// TestSafetyFollowsTheFaults: one violation changes guarantee, class, mark and sentence.
func TestSafetyFollowsTheFaults(t *testing.T) {
	const strong = "tolerates the loss of a server without two holders, and tokens refuse a paused holder"
	const base = "Between processes use zk-handoff (" + strong + "); or, if one server is enough and the resource checks tokens, the faster redis-queue."
	for _, c := range []struct {
		name, scenario string
		seen           oracle.Anomaly
		class          string // part of the class of zk-handoff
		mark           string // in the scenario
		first          string
	}{
		{"as expected", "", "", "Tolerates the loss of a server without two holders, and tokens refuse a paused holder.", "", base},
		{"two holders when a server is lost", "failover", oracle.TwoHolders, "A failover may give it away twice", "▲! 25", strings.Replace(base, "zk-handoff", "zk-lock", 1)},
		{"a stale write", "holder-pause", oracle.StaleWrite, "Tolerates the loss of a server without two holders; its tokens let a stale write pass.", "▲! 5",
			"Between processes use zk-lock (" + strong + "); or, if a late write of a paused holder does no harm, the faster zk-handoff."},
		{"stuck when a holder dies", "holder-crash", oracle.Stuck, "it may stay taken for ever", "△!", strings.Replace(base, "zk-handoff", "zk-lock", 1)},
		{"a stall, which breaks no guarantee", "holder-crash", oracle.Stall, "Tolerates the loss of a server without two holders, and tokens", "△!", base},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := chaosRun(t)
			if c.scenario != "" {
				f := faultResultOn(run, c.scenario, "zk-handoff")
				f.Seen = map[oracle.Anomaly]int{c.seen: 1}
				f.Expected.Anomalies = nil
			}
			s, first, row := safetyOn(run, "zk-handoff")
			require.Equal(t, "the first sentence", first, c.first)
			if !strings.Contains(row.Class, c.class) {
				t.Errorf("the class is %q, want %q", row.Class, c.class)
			}
			if unexpected := strings.Contains(s.Answer, "Not as expected: zk-handoff in "+c.scenario); unexpected != (c.scenario != "") {
				t.Errorf("the answer is %q", s.Answer)
			}
			for i, name := range s.Columns {
				if name == c.scenario && row.Cells[i].Mark != c.mark {
					t.Errorf("%s is marked %q, want %q", name, row.Cells[i].Mark, c.mark)
				}
			}
		})
	}
}

// TestSafetyUntested: without a try the page names the command, and invents nothing.
func TestSafetyUntested(t *testing.T) {
	run := chaosRun(t)
	run.Faults = nil
	s, first, _ := safetyOn(run, "")
	if s.Tries > 0 || s.Locks != nil || s.Figures != nil || !strings.Contains(s.Answer, "Not tested") || !strings.Contains(s.Command, "locklab chaos --out DIR\nlocklab report "+quote(run.Dir)+" --chaos DIR") {
		t.Errorf("the section is %+v", s)
	}
	if !strings.Contains(first, "(not tested for failures;") {
		t.Errorf("the first sentence is %q", first)
	}
	for what, text := range formsOf(t, Report(run)) {
		if !strings.Contains(text, "not tested for failures") || what != "terminal" && !strings.Contains(text, "locklab chaos --out DIR") || strings.Contains(text, "✓ no anomaly") {
			t.Errorf("the %s does not say that nothing was tested", what)
		}
	}
	run.Results, run.Faults = nil, []*result.FaultResult{{Scenario: "holder-crash", Lock: run.Results[0].Lock, Skipped: "no server"}}
	run.Manifest.Interrupted, run.Manifest.Cases = true, 0
	if text := formsOf(t, Report(run))["terminal"]; !strings.HasPrefix(text, s.Title) || strings.Contains(text, "simulated") || !strings.Contains(text, "Not tested: no") || !strings.Contains(text, "it ended early.") {
		t.Errorf("without any try the terminal shows\n%s", text)
	}
	local := synthetic.Run(5, 12, 2, []int{1, 8}, synthetic.Fast("a", 1e6))
	require.Equal(t, "local locks", composeSafety(local), nil)
}

func TestTimeline(t *testing.T) {
	run := chaosRun(t)
	f := faultResultOn(run, "failover", "redis-queue")
	draw := func() (string, *chart.Timeline) {
		s := must(chart.ReadTimeline(run, f, synthetic.HistoryName))
		return string(must(newFigure(chart.Named{Title: s.Title(), Pic: s.Picture()}, "h").SVG())), s
	}
	svg, s := draw()
	if a := numfmt.Plain(s.Answer()); !strings.Contains(a, "worker 2 was granted the lock for 90ms while worker 1 held it") || !strings.Contains(a, "90 ms at the longest") || !strings.Contains(a, "refused 2 writes") {
		t.Errorf("the answer is %q", a)
	}
	requireContains(t, svg, "worker 1", "told", "#43", "the primary was killed", "two hold")
	for what, edit := range map[string]func(e *oracle.Event) bool{ // false drops the event
		"a grant":           func(e *oracle.Event) bool { return e.Kind != oracle.Granted || e.Worker != 2 },
		"a write refused":   func(e *oracle.Event) bool { e.Taken = true; return true },
		"a token":           func(e *oracle.Event) bool { e.Token = min(e.Token, 41); return true },
		"the fault":         func(e *oracle.Event) bool { return e.Kind != oracle.Fault },
		"that it was told":  func(e *oracle.Event) bool { return e.Kind != oracle.Told },
		"when it was asked": func(e *oracle.Event) bool { return e.Kind != oracle.Asked || e.Worker != 2 },
	} {
		var h oracle.History
		for _, e := range failoverHistory() {
			if edit(&e) {
				h = append(h, e)
			}
		}
		saveHistory(t, run, writtenBy(t, h.Write))
		if other, _ := draw(); other == svg {
			t.Errorf("the picture does not show %s", what)
		}
	}
	for what, text := range map[string]string{"nothing": "", "no history": "{}\n", "no JSON": "x\n"} {
		saveHistory(t, run, text)
		sec, _, _ := safetyOn(run, "")
		if len(sec.Figures) != 0 || len(sec.Notes) != 1 || !strings.Contains(sec.Notes[0], synthetic.HistoryName+" cannot be drawn") {
			t.Errorf("of %s, the section has %d figures and says %q", what, len(sec.Figures), sec.Notes)
		}
	}
}
