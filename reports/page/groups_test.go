package page

import (
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

// vary returns copies of the results of run with another workload and factor times the rate.
func vary(run *result.Run, set func(w *harness.Workload), factor float64) (out []*harness.Result) {
	for _, r := range run.Results {
		c := *r
		set(&c.Workload)
		c.Ops, c.Handovers = uint64(float64(c.Ops)*factor), uint64(float64(c.Handovers)*factor)
		out = append(out, &c)
	}
	return out
}

var otherSettings = map[string]func(w *harness.Workload){
	"pinning": func(w *harness.Workload) { w.Pin = harness.PinCPU },
	"hold":    func(w *harness.Workload) { w.Hold.Mean = 10 * time.Microsecond },
}

func TestManyGroups(t *testing.T) {
	run := &result.Run{}
	for i := range 60 {
		part := synthetic.Zoo(1)
		for _, r := range part.Results {
			r.Workload.Think.Mean = time.Duration(i) * time.Microsecond
		}
		run.Results = append(run.Results, part.Results...)
	}
	html := pageOf(t, run)
	if n := len(html); n > 3<<20 {
		t.Errorf("the page is %d bytes, want at most 3 MiB", n)
	}
	for _, want := range []string{`<details class="group">`, "Not drawn by themselves"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
