package page

import (
	"regexp"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// TestHistorical: a lock kept to show a bug is marked, and never called the best.
func TestHistorical(t *testing.T) {
	bad := []synthetic.Model{
		{Lock: synthetic.Local("swift", harness.Spin, harness.Historical), Rate: synthetic.Constant(900e6), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Local("rash", harness.Blocking, harness.Broken), Rate: synthetic.Constant(800e6), Handed: 1, Noise: 0.02},
		{Lock: synthetic.Local("nolock", harness.Blocking, harness.Control), Rate: synthetic.Constant(990e6), Noise: 0.02},
	}
	good := []synthetic.Model{
		{Lock: synthetic.Local("sound", harness.Spin, harness.Correct), Rate: synthetic.Constant(9e6), Handed: 0.5, Noise: 0.02},
		{Lock: synthetic.Local("plain", harness.Spin, harness.Correct), Rate: synthetic.Constant(8e6), Skew: 1, Handed: 0.5, Noise: 0.02},
	}
	run := synthetic.Run(3, 12, 2, []int{1, 2, 8}, append(good, bad...)...)
	gs := chart.Groups(chart.Sanitize(run))
	drawn := 0
	for _, c := range chart.Suite {
		g := chart.Anchored(gs, c.Remote)
		if g == nil {
			continue
		}
		pic := c.Drawn(g)
		if pic.Height == 0 {
			continue
		}
		drawn++
		answer, left, _ := strings.Cut(pic.Answer, "Left out of this answer")
		if strings.Contains(answer, "swift") || strings.Contains(answer, "rash") {
			t.Errorf("%s answers: %s", c.Name, pic.Answer)
		}
		if !strings.Contains(left, "swift (historical)") || !strings.Contains(left, "rash (broken)") {
			t.Errorf("%s does not say what it leaves out: %s", c.Name, pic.Answer)
		}
	}
	if drawn < 4 {
		t.Errorf("%d charts were drawn", drawn)
	}
	bare := regexp.MustCompile(`\b(swift|rash|nolock)\b.{0,14}`)
	mark := map[string]string{"swift": " (historical)", "rash": " (broken)", "nolock": " (control)"}
	for name, got := range formsOf(t, Report(run)) {
		found := 0
		for _, m := range bare.FindAllStringSubmatch(strings.ReplaceAll(got, "\u00a0", " "), -1) {
			found++
			if !strings.HasPrefix(strings.TrimPrefix(m[0], m[1]), mark[m[1]]) {
				t.Errorf("%s names it without its mark: %q", name, m[0])
			}
		}
		if found == 0 {
			t.Errorf("%s does not name them", name)
		}
	}
	// Without a lock to name, there is no answer.
	for _, c := range chart.Suite {
		if g := chart.Anchored(chart.Groups(chart.Sanitize(synthetic.Run(3, 12, 2, []int{1, 2}, bad[:2]...))), c.Remote); g != nil && c.Draw(g).Height > 0 {
			if pic := c.Drawn(g); !strings.HasPrefix(pic.Answer, "No answer: ") {
				t.Errorf("%s answers: %s", c.Name, pic.Answer)
			}
		}
	}
}
