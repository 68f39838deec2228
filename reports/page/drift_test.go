package page

import (
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

func runWithSpeed(rounds int, noise float64, speed func(round int) float64) *result.Run {
	var models []synthetic.Model
	for i := range 6 {
		models = append(models, synthetic.With(synthetic.Fast(string(rune('a'+i)), 1e6*float64(1+i)), func(m *synthetic.Model) { m.Noise = noise }))
	}
	run := synthetic.Run(4, rounds, 2, []int{1, 2}, models...)
	for _, r := range run.Results {
		r.Elapsed = time.Duration(float64(r.Elapsed) / speed(r.Round))
	}
	return run
}

// TestDrift: a trend in the speed of the machine is reported, a steady machine is not. The
// verdict is the same, because it compares within rounds.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name  string
		speed func(round int) float64
		want  string // of the only warning, "" for none
	}{
		{"steady", func(int) float64 { return 1 }, ""},
		{"a little slower", func(r int) float64 { return 1 - 0.002*float64(r) }, ""},
		{"slower", func(r int) float64 { return 1 - 0.015*float64(r) }, "Over the 10 rounds the machine got 15 % slower for local locks (Mann-Kendall test"},
		{"faster", func(r int) float64 { return 1 + 0.015*float64(r) }, "Over the 10 rounds the machine got 12 % faster"},
		{"to and fro", func(r int) float64 { return 1 + 0.1*math.Pow(-1, float64(r)) }, ""},
		{"one slow round", func(r int) float64 { return map[bool]float64{true: 0.6, false: 1}[r == 3] }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runWithSpeed(10, 0.01, c.speed)
			q := assess(run, nil)
			var got []string
			for _, w := range q.Warnings {
				got = append(got, numfmt.Plain(w.Text))
				if w.Remedy == "" || w.Kind != "drift" || w.Where != "the whole run" {
					t.Errorf("%+v", w)
				}
			}
			if text := strings.Join(got, "; "); (c.want == "") != (text == "") || !strings.Contains(text, c.want) || len(got) > 1 {
				t.Errorf("got %q, want %q", text, c.want)
			}
			for _, check := range q.Checks {
				if check.Kind == "drift" && (check.Bad != (c.want != "") || check.Found == "") {
					t.Errorf("check %+v", check)
				}
			}
			if ds := judge.Decisions(run); ds[0].Fastest != "f" {
				t.Errorf("the fastest is %q", ds[0].Fastest)
			}
		})
	}
}

// TestChecks: the report lists all checks, good or bad, and marks missing noise figures.
func TestChecks(t *testing.T) {
	run := synthetic.Run(1, 6, 2, []int{1, 2}, synthetic.Fast("a", 1e6))
	requireChecks := func(want map[string]string) {
		t.Helper()
		for _, c := range assess(run, nil).Checks {
			mark := "fine"
			switch {
			case c.Bad:
				mark = "bad"
			case c.Found == "":
				mark = "unknown"
			}
			if w := want[c.Kind]; w != "" && w != mark {
				t.Errorf("%s is %s, want %s", c.Kind, mark, w)
			}
			delete(want, c.Kind)
		}
		if len(want) > 0 {
			t.Errorf("these checks are missing: %v", want)
		}
	}
	requireChecks(map[string]string{"steal": "unknown", "guest": "fine", "overlap": "fine", "drift": "fine"})
	run.Manifest.Machine.Virtual = "KVM"
	for i, r := range run.Results {
		r.Noise = &harness.Noise{Window: time.Second, CPUs: 2, Pressure: 0.02, Speed: 1}
		if i == 3 {
			r.Noise.Steal, r.Overlap = 0.3, 0.5
		}
	}
	requireChecks(map[string]string{"steal": "bad", "pressure": "fine", "guest": "bad", "overlap": "bad", "governor": "unknown", "drift": "fine"})
}

// TestDisturbs: use of processors by others disturbs local locks only.
func TestDisturbs(t *testing.T) {
	run := synthetic.Run(1, 10, 2, []int{1, 8}, synthetic.Fast("a", 1e6), served("q", 900))
	for _, d := range judge.Decisions(run) {
		s := d.Situation
		for kind, want := range map[string]bool{"others": !s.Distributed(), "pressure": !s.Distributed() && s.Workers < 2, "steal": true} {
			if got := s.Disturbs(harness.Warning{Kind: kind}); got != want {
				t.Errorf("%s, %s: %v, want %v", s.Name(), kind, got, want)
			}
		}
	}
}
