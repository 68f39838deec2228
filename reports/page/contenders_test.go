package page

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

// contended returns a run of a queue, a herd, a poller and a misfit, with up to 1000 workers.
func contended(asked ...int) *result.Run {
	wrong := synthetic.Queue("wrong") // 20 times slower with 1000
	wrong.Period = func(n float64) time.Duration { return 300*time.Microsecond + time.Duration(5*max(0, n-100)*n) }
	run := synthetic.Contenders(3, []int{1, 5, 10, 20, 50, 100, 300, 1000}, synthetic.Queue("queue"), synthetic.Herd("herd"), synthetic.Polling("poll"), wrong)
	run.Contenders = asked
	return run
}

func TestContendersRows(t *testing.T) {
	run := contended(10_000)
	d := chart.NewContention(run, chart.Groups(run))
	if d == nil || !d.HasLaw() {
		t.Fatalf("found %+v", d)
	}
	var got []string
	for _, r := range rowsOf(d.Rows(), "queue")[4:] {
		got = append(got, numfmt.Plain(strings.Join(r[1:], "|")))
	}
	want := []string{
		"100|measured|3.33 k|–|–|30 ms|–|–|",
		"300|measured and left out|3.33 k|3.33 k|+0 %|90 ms|90 ms|+0 %|",
		"1000|measured and left out|3.33 k|3.33 k|+0 %|300 ms|300 ms|+0 %|",
		"10000|computed|–|3.33 k (3.33 k–3.33 k)|–|–|3 s (3 s–3 s)|–|",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for lock, reason := range map[string]string{"wrong": "refuted: off by a factor of 16 with 1000 contenders", "poll": "polls: "} {
		rows := rowsOf(d.Rows(), lock)
		last := rows[len(rows)-1]
		if last[4] != numfmt.Unknown || !strings.Contains(last[9], reason) {
			t.Errorf("%s: %q, want no figure, for %q", lock, last, reason)
		}
	}
	wantErrors := "4 of 6 points left out of the fit are within 15 % of what was measured; the greatest error is +1500 % (wrong, 1000 contenders)."
	if got := numfmt.Plain(d.Errors()); got != wantErrors {
		t.Errorf("got %q\nwant %q", got, wantErrors)
	}
}

// TestCannotPredict: a run that lacks the input of a prediction gets the reason, and no section.
func TestCannotPredict(t *testing.T) {
	local, old, delayed := synthetic.Run(1, 2, 2, []int{1, 100}, synthetic.Fast("tas", 1e6)), farther(), farther()
	few, far := synthetic.Contenders(2, []int{1, 4, 8}, synthetic.Queue("queue")), contended()
	for _, r := range old.Results {
		r.Trips = nil
	}
	for _, r := range append(slices.Clone(delayed.Results), far.Results...) {
		r.Workload.Delay = time.Millisecond
	}
	for _, c := range []struct {
		check   func(*result.Run) error
		run     *result.Run
		want    string
		section string
	}{
		{CanPredict, local, "a distributed lock", "what distance costs"},
		{CanPredict, old, "earlier version", "what distance costs"},
		{CanPredict, delayed, "without a delay", "what distance costs"},
		{chart.CanExtrapolate, local, "the run has none", "many contenders"},
		{chart.CanExtrapolate, few, "--workers 5,10,20,50,500", "many contenders"},
		{chart.CanExtrapolate, far, "in a closed loop without a d", "many contenders"},
	} {
		if err := c.check(c.run); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want a line with %q", err, c.want)
		}
		c.run.RoundTrips = []time.Duration{time.Millisecond}
		for name, text := range formsOf(t, c.run) {
			if strings.Contains(text, c.section) {
				t.Errorf("%s: the %s has the section", c.want, name)
			}
		}
	}
	if err := errors.Join(chart.CanExtrapolate(contended()), CanPredict(farther())); err != nil {
		t.Error(err)
	}
	if text := textOf(t, reportOf(t, contended())); strings.Contains(text, chart.ContendersTitle) {
		t.Errorf("nothing was asked for, and the terminal has predictions:\n%s", text)
	}
}
