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

// farther returns a run of a queue, a polling lock and one without trips, near and with
// delays. The queue takes a round trip and 30 µs for a grant and for a handover.
func farther(delays ...time.Duration) *result.Run {
	model := func(name string) synthetic.Model {
		m := synthetic.Model{Lock: synthetic.Served(name, harness.Redis, harness.KindRedis), Rate: synthetic.Constant(5000), Handed: 1}
		m.Lock.Traits.FIFO = name == "queue"
		return m
	}
	base := synthetic.Run(3, 7, 2, []int{1, 8}, model("poll"), model("queue"), model("strange"))
	one := harness.Leg{Halves: 2, Requests: 1}
	trips := map[string]*harness.Trips{
		"queue": {Lock: one, Unlock: one, Behind: &harness.TripsBehind{Queue: harness.Leg{Halves: 1, Requests: 2}, Handover: one, Unlock: one, Requests: 3}},
		"poll":  {Lock: one, Unlock: one, Behind: &harness.TripsBehind{Polls: true}},
	}
	run := *base
	run.Results = nil
	for _, delay := range append([]time.Duration{0}, delays...) {
		for _, r := range base.Results {
			c := *r
			c.Trips, c.Workload.Hold, c.Workload.Delay, c.RoundTrip = trips[r.Lock.Name], harness.Span{}, delay, 20e3+float64(delay)
			takes := int64(c.RoundTrip) + 30e3
			c.Wait = harness.Histogram{{Value: takes, N: 1000}}
			if c.Workload.Workers > 1 {
				c.Wait[0].Value *= 7
				c.Handover = harness.Histogram{{Value: takes, N: 1000}}
				c.Elapsed = time.Duration(takes * int64(c.Handovers))
			}
			run.Results = append(run.Results, &c)
		}
	}
	return &run
}

func rowsOf(t chart.Table, lock string) (rows [][]string) {
	for _, r := range t.Rows {
		if r[0] == lock {
			rows = append(rows, r)
		}
	}
	return rows
}

func TestDistance(t *testing.T) {
	run := farther(time.Millisecond, 5*time.Millisecond)
	run.RoundTrips = []time.Duration{1500 * time.Microsecond}
	d := chart.NewDistance(run, chart.Groups(run))
	if d == nil || len(d.Far) != 2 || d.Workers != 8 {
		t.Fatalf("found %+v", d)
	}
	plain := func(rows [][]string) (out []string) {
		for _, r := range rows {
			out = append(out, numfmt.Plain(strings.Join(r, "|")))
		}
		return out
	}
	for _, test := range []struct {
		what      string
		got, want []string
	}{
		{"costs", plain(rowsOf(d.Costs(), "queue")), []string{"queue|2|3|1|1|1|1.5|1|50 µs|50 µs|350 µs"}},
		{"costs of one that polls", plain(rowsOf(d.Costs(), "poll")), []string{"poll|2|polls|polls|1|1|polls|polls|50 µs|50 µs|350 µs"}},
		{"costs of a strange one", plain(rowsOf(d.Costs(), "strange")), []string{"strange|–|–|–|–|–|–|–|50 µs|50 µs|350 µs"}},
		{"predictions", plain(rowsOf(d.Predictions(), "queue"))[:4], []string{
			"queue|alone|50 µs|1.5 ms|1.53 ms|1.53 ms to 1.53 ms|–|–|",
			"queue|alone|50 µs|1.02 ms|1.05 ms|1.05 ms to 1.05 ms|1.05 ms|+0 %|", "queue|alone|50 µs|5.02 ms|5.05 ms|5.05 ms to 5.05 ms|5.05 ms|+0 %|",
			"queue|hand-over|50 µs|1.5 ms|1.53 ms|1.53 ms to 1.53 ms|–|–|"}},
		{"predictions of one that polls", plain(rowsOf(d.Predictions(), "poll"))[3:4], []string{"poll|hand-over|50 µs|1.5 ms|–|–|–|–|polls: waiters ask again after a pause"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: %q, want %q", test.what, test.got, test.want)
		}
	}
	for got, want := range map[string]string{
		d.CostsAnswer(): "A handover takes 1 round trip in sequence with queue.",
		d.Answer(): "At a round trip of 1.5ms the fastest predicted handover is 1.53 ms of queue; near the servers it takes 50 µs. " +
			"8 of 8 predictions are within 15 % of what was measured; the greatest error is +0 % (",
	} {
		if !strings.HasPrefix(numfmt.Plain(got), want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDistanceIsSeen(t *testing.T) {
	run := farther(time.Millisecond)
	for _, r := range run.Results {
		if r.Lock.Name == "queue" && r.Workload.Delay > 0 && r.Workload.Workers == 1 {
			r.Wait = harness.Histogram{{Value: 2 * r.Wait[0].Value, N: 1000}}
		}
	}
	d := chart.NewDistance(run, chart.Groups(run))
	if got := numfmt.Plain(d.Answer()); !strings.HasPrefix(got, "3 of 4 predictions are within 15 %") || !strings.HasSuffix(got, "the greatest error is -50 % (queue, alone, with a delay of 1ms).") {
		t.Error(got)
	}
}

func TestDistanceOnPages(t *testing.T) {
	run := farther(time.Millisecond)
	run.RoundTrips = []time.Duration{2 * time.Millisecond}
	page, text := pageOf(t, run), ""
	text, _ = markdownOf(t, run)
	var terminal bytes.Buffer
	if err := WriteDistance(&terminal, run, 100); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"page": page, "Markdown": text, "terminal": terminal.String()} {
		if !strings.Contains(out, "What would it take at another round trip?") || !strings.Contains(out, "not predicted") {
			t.Errorf("the %s lacks the question, or what is not predicted", name)
		}
	}
	if n := strings.Count(page, "<details open><summary>numbers"); n != 2 {
		t.Errorf("%d tables of the page are open, want 2", n)
	}
	for _, m := range unexplained(page) {
		t.Error(m)
	}
	for _, m := range unprintable(page) {
		t.Error(m)
	}
}

// TestWithoutDistance: runs without trips or distributed locks have no section, or its reason.
func TestWithoutDistance(t *testing.T) {
	old, local, delayed := farther(), synthetic.Run(1, 2, 2, []int{1}, synthetic.Fast("a", 1e6)), farther()
	for _, r := range old.Results {
		r.Trips = nil
	}
	for _, r := range delayed.Results {
		r.Workload.Delay = time.Millisecond
	}
	for want, run := range map[string]*result.Run{"earlier version": old, "the run has none": local, "without a delay": delayed} {
		run.RoundTrips = []time.Duration{time.Millisecond}
		if err := CanPredict(run); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want a line with %q", err, want)
		}
		if page := pageOf(t, run); strings.Contains(page, `id="distance"`) {
			t.Errorf("%s: the page has the section", want)
		}
		var out bytes.Buffer
		if err := WriteDistance(&out, run, 100); err != nil || out.Len() > 0 {
			t.Errorf("%s: wrote %q, %v", want, out.String(), err)
		}
	}
	if err := CanPredict(farther()); err != nil {
		t.Error(err)
	}
}
