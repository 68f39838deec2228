package reports

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/synthetic"
)

// crowded returns a run of a queue, a herd, a lock that polls and one of which the model is
// wrong, with up to 1000 workers.
func crowded(asked ...int) *resultfile.Run {
	wrong := synthetic.Queue("wrong")
	wrong.Period = func(n float64) time.Duration { return time.Millisecond + time.Duration(100*n*n) }
	run := synthetic.Crowds(3, []int{1, 5, 10, 20, 50, 100, 300, 1000}, synthetic.Queue("queue"), synthetic.Herd("herd"), synthetic.Polling("poll", 100*time.Millisecond), wrong)
	run.Contenders = asked
	return run
}

// TestGoldenCrowd draws the charts of many contenders, and writes the section as Markdown
// and for the terminal.
func TestGoldenCrowd(t *testing.T) {
	run := crowded(1500, 10_000, 100_000)
	run.RoundTrips = []time.Duration{50 * time.Millisecond}
	outputs := map[string]func(io.Writer) error{
		"crowd/terminal.txt": func(w io.Writer) error { return WriteCrowd(w, run, 100) },
		"crowd/section.md": func(w io.Writer) error {
			text, _ := markdownOf(t, run)
			_, text, found := strings.Cut(text, "## Distributed locks, many contenders")
			if !found {
				t.Error("the Markdown has no section of contenders")
			}
			text, _, _ = strings.Cut(text, "\n## ")
			_, err := io.WriteString(w, text)
			return err
		},
	}
	for _, name := range CrowdCharts(run) {
		outputs["crowd/"+name+".svg"] = func(w io.Writer) error { return WriteSVG(w, run, name) }
	}
	checkGolden(t, outputs)
}

// TestCrowdRows: the table has what was measured, what was left out with its error, and
// what is computed, each said to be so.
func TestCrowdRows(t *testing.T) {
	run := crowded(10_000)
	d := newCrowds(run, groups(run))
	if d == nil || d.modelled() != 4 {
		t.Fatalf("found %+v", d)
	}
	var got []string
	for _, r := range rowsOf(d.rows(), "queue")[4:] {
		got = append(got, strings.ReplaceAll(strings.Join(append(slices.Clone(r[1:11]), r[14:]...), "|"), nb, " "))
	}
	want := []string{
		"100|measured, of the calibration|3.33 k|–|–|–|30 ms|–|–|–||",
		"300|measured and left out|3.33 k|3.33 k|+0 %|–|90 ms|90 ms|+0 %|–||",
		"1000|measured and left out|3.33 k|3.33 k|+0 %|–|300 ms|300 ms|+0 %|–||",
		"10000|computed|–|3.33 k|–|3.33 k to 3.33 k|–|3 s|–|3 s to 3 s|maxclients at 5 k|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for lock, reason := range map[string]string{"wrong": "refuted: with 1000 contenders", "poll": "take all that can be served: with 2"} {
		rows := rowsOf(d.rows(), lock)
		last := rows[len(rows)-1]
		if last[4] != unknown || !strings.Contains(last[15], reason) {
			t.Errorf("%s: %q, want no figure, for %q", lock, last, reason)
		}
	}
	if got := strings.ReplaceAll(d.errors(), nb, " "); !strings.HasPrefix(got, "Of 8 points that the models were not calibrated by, 6 lie within 15 %") || !strings.HasSuffix(got, "(wrong, 1000 contenders).") {
		t.Error(got)
	}
}

// TestCrowdFar: what was measured with a delay is held against what the model says.
func TestCrowdFar(t *testing.T) {
	run := crowded()
	const trip = 10 * time.Millisecond
	slow := synthetic.Queue("queue")
	slow.Period = func(float64) time.Duration { return trip + 5*time.Millisecond } // half as much again as the path has
	for _, r := range synthetic.Crowds(3, []int{50, 100, 1000}, slow).Results {
		r.Workload.Delay, r.RoundTrip = trip, float64(trip)
		run.Results = append(run.Results, r)
	}
	d := newCrowds(run, groups(run))
	var got []string
	for _, r := range rowsOf(d.rows(), "queue") {
		if strings.Contains(r[2], "measured at") {
			got = append(got, strings.ReplaceAll(strings.Join(r[1:6], "|"), nb, " "))
		}
	}
	if want := []string{"100|measured at 10 ms and left out|66.7|97.3|+46 %", "1000|measured at 10 ms and left out|66.7|97.3|+46 %"}; !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := strings.ReplaceAll(d.errors(), nb, " "); !strings.HasPrefix(got, "Of 10 points") {
		t.Error(got)
	}
}

// TestCrowdIsMarked: in the page, in both themes, what is computed is hollow, dashed and
// called so; without the flag nothing is computed beyond the measurements, and the section
// is folded.
func TestCrowdIsMarked(t *testing.T) {
	asked, plain := pageOf(t, crowded(100_000)), pageOf(t, crowded())
	for _, want := range []string{`id="contenders-rate"`, `id="contenders-wait"`, "computed, not measured", ", computed<", "stroke-dasharray"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"computed, not measured", "100000"} {
		if strings.Contains(plain, bad) {
			t.Errorf("nothing was asked for, and the page has %q", bad)
		}
	}
	if !strings.Contains(plain, `id="contenders-rate"`) {
		t.Error("the run has enough numbers of workers, and the page does not show how good the model is")
	}
	for _, l := range []computedLine{{}, {strong: true}} {
		for i := range filled {
			m, c := l.look(i, false), l.look(i, true)
			if m.marker == c.marker || m.dash != nil || c.dash == nil {
				t.Errorf("line %d looks alike measured and computed", i)
			}
		}
	}
	var png bytes.Buffer
	if err := WritePNG(&png, crowded(100_000), "contenders-wait"); err != nil || png.Len() == 0 {
		t.Errorf("a PNG of %d bytes, %v", png.Len(), err)
	}
	if err := WritePNG(&png, crowded(), "contenders-wait"); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("nothing was asked for, and the chart is drawn: %v", err)
	}
}

// TestCannotExtrapolate: a run of which nothing can be said says why in one line.
func TestCannotExtrapolate(t *testing.T) {
	few := synthetic.Crowds(2, []int{1, 4, 8}, synthetic.Queue("queue"))
	far := crowded()
	for _, r := range far.Results {
		r.Workload.Delay = time.Millisecond
	}
	for want, run := range map[string]*resultfile.Run{
		"the run has none":             synthetic.Run(1, 2, 2, []int{1, 100}, synthetic.Fast("tas", 1e6)),
		"--workers 5,10,20,50,500":     few,
		"in a closed loop without a d": far,
	} {
		err := CanExtrapolate(run)
		if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want a line with %q", err, want)
		}
		if page := pageOf(t, run); strings.Contains(page, `id="contenders"`) {
			t.Errorf("%s: the page has the section", want)
		}
	}
	if err := CanExtrapolate(crowded()); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := WriteCrowd(&out, crowded(), 100); err != nil || out.Len() > 0 {
		t.Errorf("nothing was asked for: wrote %q, %v", out.String(), err)
	}
}

// TestCrowdOfDamage: no figure of a damaged file is written as none.
func TestCrowdOfDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	for _, v := range extremes {
		run := crowded(100_000)
		run.RoundTrips = []time.Duration{time.Millisecond}
		i := int(max(math.MinInt32, min(v, math.MaxInt32)))
		if math.IsNaN(v) {
			i = -1
		}
		for k, r := range run.Results {
			cpu := time.Duration(i)
			connections := int64(i)
			switch k % 5 {
			case 0:
				r.RoundTrip = v
			case 1:
				r.Servers = &harness.ServerCost{CPU: &cpu, Connections: &connections, Memory: &connections}
			case 2:
				r.Wire = &harness.Counts{Requests: uint64(i)}
			case 3:
				r.Handovers = uint64(i)
			case 4:
				r.Elapsed = time.Duration(i)
			}
		}
		var out bytes.Buffer
		if err := WriteCrowd(&out, run, 100); err != nil {
			t.Fatal(err)
		}
		out.WriteString(pageOf(t, run))
		for _, bad := range []string{"NaN", "Inf", "%!"} {
			if at := strings.Index(out.String(), bad); at >= 0 {
				t.Errorf("%v: the report has %q: %s", v, bad, out.String()[max(0, at-80):at+10])
			}
		}
	}
}
