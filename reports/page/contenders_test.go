package page

import (
	"bytes"
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

func TestCannotExtrapolate(t *testing.T) {
	few := synthetic.Contenders(2, []int{1, 4, 8}, synthetic.Queue("queue"))
	far := contended()
	for _, r := range far.Results {
		r.Workload.Delay = time.Millisecond
	}
	for want, run := range map[string]*result.Run{
		"the run has none":             synthetic.Run(1, 2, 2, []int{1, 100}, synthetic.Fast("tas", 1e6)),
		"--workers 5,10,20,50,500":     few,
		"in a closed loop without a d": far,
	} {
		err := chart.CanExtrapolate(run)
		if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want a line with %q", err, want)
		}
		if page := pageOf(t, run); strings.Contains(page, `id="contenders"`) {
			t.Errorf("%s: the page has the section", want)
		}
	}
	if err := chart.CanExtrapolate(contended()); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := WriteContenders(&out, contended(), 100); err != nil || out.Len() > 0 {
		t.Errorf("nothing was asked for: wrote %q, %v", out.String(), err)
	}
}
