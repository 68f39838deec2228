package page

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

func render(t *testing.T, run *result.Run) string {
	t.Helper()
	return written(t, func(w io.Writer) error {
		errs := []error{Report(run).HTML(w), Report(run).Text(w, 0)}
		for _, p := range Posters(run) {
			errs = append(errs, writeSVG(w, p))
		}
		return errors.Join(errs...)
	})
}

// TestNothingToDraw: without data, every output has a sentence.
func TestNothingToDraw(t *testing.T) {
	idle := synthetic.Fast("idle", 0)
	for name, run := range map[string]*result.Run{
		"empty":        {},
		"zero":         synthetic.Run(1, 3, 2, []int{1, 2}, idle),
		"one point":    synthetic.Run(1, 1, 2, []int{4}, synthetic.Fast("a", 1e6)),
		"one worker":   synthetic.Run(1, 3, 2, []int{1}, synthetic.Fast("a", 1e6)),
		"constant":     synthetic.Run(1, 3, 2, []int{1, 2, 4}, synthetic.With(synthetic.Fast("a", 1e6), noiseless)),
		"all violated": synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.With(synthetic.Fast("a", 1e6), breaking)),
	} {
		t.Run(name, func(t *testing.T) {
			text := render(t, run)
			if bad := findUnformatted(text); bad != "" || name == "empty" && strings.Contains(text, `id="metrics"`) {
				t.Errorf("the report has %q, or defines metrics of nothing", bad)
			}
			for _, g := range chart.Groups(run) {
				for _, c := range chart.Suite {
					if pic := c.Draw(g); c.Remote == g.Remote && !strings.HasSuffix(pic.Answer, ".") {
						t.Errorf("chart %s answers %q, which is no sentence", c.Name, pic.Answer)
					}
				}
			}
		})
	}
}

// TestWriters: every writer reports a full disk.
func TestWriters(t *testing.T) {
	report := Report(synthetic.Zoo(1))
	for name, write := range map[string]func(io.Writer) error{
		"html":     report.HTML,
		"text":     func(w io.Writer) error { return report.Text(w, 80) },
		"png":      func(w io.Writer) error { return Posters(synthetic.Zoo(1))[0].WritePNG(w) },
		"Markdown": func(w io.Writer) error { return report.Markdown(w, "charts", noPicture) },
		"picture of Markdown": func(w io.Writer) error {
			return report.Markdown(io.Discard, "charts", func(_ string, png []byte) error {
				_, err := w.Write(png)
				return err
			})
		},
	} {
		if err := write(full{}); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: got %v", name, err)
		}
	}
	if err := Report(&result.Run{}).Markdown(io.Discard, "charts", nil); err != nil {
		t.Errorf("nothing measured: %v", err)
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestQuality(t *testing.T) {
	run := synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.Fast("a", 1e6))
	if q := assess(run, nil); !q.Good() {
		t.Errorf("a clean run: got %+v", q)
	}
	for i, r := range run.Results {
		r.Warnings = []harness.Warning{{Kind: "steal", Text: fmt.Sprintf("steal is %d.5 %%", i), Remedy: "use bare metal"}}
	}
	run.Results[0].Warnings = append(run.Results[0].Warnings, harness.Warning{Text: "throttled", Remedy: "wait"})
	run.Manifest.Warnings = []harness.Warning{{Text: "this is a guest", Remedy: "use bare metal"}}
	run.Manifest.Skipped = []result.Skip{{Lock: "x", Reason: "no Java"}, {Lock: "y", Reason: "no Java"}, {Lock: "w", Reason: "no Redis"}}
	run.Damage = []string{"line 4 is cut short"}
	run.Manifest.Finished, run.Manifest.Interrupted = time.Time{}, true
	run.Results = run.Results[:5]
	q := assess(run, nil)
	if q.Good() || len(q.Warnings) != 3 || len(q.Skipped) != 2 || q.Skipped[0] != "x and y were not measured: no Java" {
		t.Fatalf("got %+v, want three kinds of warning and two reasons", q)
	}
	if w := q.Warnings[0]; w.Where != "the whole run" || w.Text != "This is a guest." {
		t.Errorf("first warning is %+v, want that of the whole run", w)
	}
	if w := q.Warnings[1]; w.Where != "5 of 5 results" || !strings.HasPrefix(w.Text, "Steal is ") {
		t.Errorf("second warning is %+v, want one of steal in 5 of 5", w)
	}
	if want := "Partial run: it ended in round 3 of 3, after 5 results."; q.Partial != want {
		t.Errorf("got %q, want %q", q.Partial, want)
	}
	if want := "Run quality: 3 locks not measured, 1 line of the file damaged. Most useful remedy: Use bare metal."; q.Headline() != want {
		t.Errorf("got %q, want %q", q.Headline(), want)
	}
	for _, want := range []string{"Partial run", "no Java", "cut short", "Use bare metal"} {
		if !strings.Contains(render(t, run), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}
