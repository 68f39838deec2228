package lab

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/internal/numfmt"
	"locklab/internal/site"
)

// TestReportAtDistance: a run counts trips, tests its predictions under a delay, and predicts
// others; a local lock is an error.
func TestReportAtDistance(t *testing.T) {
	skipIfShort(t)
	needOwn(t, harness.KindRedis)
	t.Parallel()
	cmd := locklab(t, "run", "--locks", "redis-queue,sync-mutex", "--workers", "1,4", "--delay", "0,2ms", "--rounds", "1", "--duration", "60ms", "--out", "run")
	stdout, _ := requireSuccess(t, cmd)
	dir := filepath.Join(cmd.Dir, "run")
	run := requireRun(t, dir)
	for _, r := range run.Results {
		remote := r.Lock.Traits.Needs != ""
		if (r.Trips != nil) != remote || remote && (r.Trips.Lock.Halves != 2 || r.Trips.Behind == nil || r.Trips.Behind.Handover.Halves != 2) {
			text, _ := json.Marshal(r.Trips)
			t.Errorf("%s: %s", r.Lock.Name, text)
		}
	}
	const checked, asked = "How long would it take at another round trip?", "At a round trip of 1.5ms"
	if !strings.Contains(stdout, checked) || strings.Contains(stdout, asked) {
		t.Errorf("the run does not hold its predictions against what it measured:\n%s", stdout)
	}
	again := locklab(t, "report", dir, "--rtt", "1.5ms,5ms", "--out", "again")
	stdout, _ = requireSuccess(t, again)
	for _, name := range []string{reportName, markdownName} {
		stdout += readFile(t, filepath.Join(again.Dir, "again", name))
	}
	if n := strings.Count(stdout, asked); n != 2 || !strings.Contains(numfmt.Plain(stdout), "5 ms") {
		t.Errorf("%d predictions for a round trip of 1.5 ms, want one on the terminal and one in the Markdown", n)
	}
}

func TestPlainest(t *testing.T) {
	p := planOf(t, optionsOf(t, "--locks=redis-queue --workers=2 --servers=1,3 --durable=on,off --tls=on,off --delay=0,1ms"))
	slices.Reverse(p.Cases)
	v := p.Cases[0].Lock
	if got, want := site.Plainest(p, v), (measure.Site{Kind: harness.KindRedis, Servers: 1}); got != want {
		t.Errorf("counts at %+v, want %+v", got, want)
	}
	p.Cases = slices.DeleteFunc(p.Cases, func(c measure.Case) bool { return !c.Workload.TLS && !c.Workload.Durable })
	if got, want := site.Plainest(p, v), (measure.Site{Kind: harness.KindRedis, Servers: 1, Durable: true}); got != want {
		t.Errorf("counts at %+v, want %+v", got, want)
	}
}
