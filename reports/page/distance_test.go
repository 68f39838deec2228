package page

import (
	"bytes"
	"errors"
	"math"
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
			out = append(out, strings.ReplaceAll(strings.Join(r, "|"), numfmt.Space, " "))
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
		{"predictions", plain(rowsOf(d.Predictions(), "queue")), []string{
			"queue|alone|50 µs|1.53 ms|1.53 ms to 1.53 ms|", "queue|hand-over|50 µs|1.53 ms|1.53 ms to 1.53 ms|", "queue|behind others|350 µs|10.7 ms|10.7 ms to 10.7 ms|"}},
		{"predictions of one that polls", plain(rowsOf(d.Predictions(), "poll"))[1:2], []string{"poll|hand-over|50 µs|–|–|polls: waiters ask again after a pause"}},
		{"checks", plain(rowsOf(d.Checks(), "queue"))[:2], []string{
			"queue|alone|1ms|1.02 ms|1.05 ms|1.05 ms|+0 %|1.05 ms to 1.05 ms|1.05 ms to 1.05 ms|", "queue|alone|5ms|5.02 ms|5.05 ms|5.05 ms|+0 %|5.05 ms to 5.05 ms|5.05 ms to 5.05 ms|"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: %q, want %q", test.what, test.got, test.want)
		}
	}
	for what, text := range map[string][2]string{
		"costs":       {d.CostsAnswer(), "A hand-over takes 1 round trip in sequence with queue. Waiters of poll ask again after a pause, so its hand-over is not made of round trips."},
		"predictions": {d.PredictionsAnswer(), "At a round trip of 1.5ms the quickest hand-over would be that of queue, 1.53 ms; near the servers it takes 50 µs."},
		"checks":      {d.ChecksAnswer(), "8 of 8 predictions lie within 15 % of what was measured; the median error is 0 %, the greatest +0 % ("},
	} {
		if got := strings.ReplaceAll(text[0], numfmt.Space, " "); !strings.HasPrefix(got, text[1]) {
			t.Errorf("%s: %q, want %q", what, got, text[1])
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
	if got := strings.ReplaceAll(d.ChecksAnswer(), numfmt.Space, " "); !strings.HasPrefix(got, "3 of 4 predictions lie within 15 %") || !strings.HasSuffix(got, "the greatest -50 % (queue, alone, with a delay of 1ms).") {
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
	for _, question := range []string{"What would it take at another round trip?", "How good are predictions from the run without a delay?"} {
		for name, out := range map[string]string{"page": page, "Markdown": text, "terminal": terminal.String()} {
			if !strings.Contains(out, question) || !strings.Contains(out, "not predicted") {
				t.Errorf("the %s lacks %q, or what is not predicted", name, question)
			}
		}
	}
	if n := strings.Count(page, "<details open><summary>numbers"); n != 3 {
		t.Errorf("%d tables of the page are open, want 3", n)
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

func TestDistanceOfDamage(t *testing.T) {
	for _, v := range extremes {
		run := farther(time.Millisecond)
		run.RoundTrips = []time.Duration{time.Millisecond}
		i := int(max(math.MinInt32, min(v, math.MaxInt32)))
		if math.IsNaN(v) {
			i = -1
		}
		for k, r := range run.Results {
			bad := harness.Leg{Halves: i, Requests: v}
			switch k % 3 {
			case 0:
				r.RoundTrip = v
			case 1:
				r.Trips = &harness.Trips{Lock: bad, Unlock: bad, Behind: &harness.TripsBehind{Queue: bad, Handover: bad, Unlock: bad, Requests: v}}
			case 2:
				r.Handover = harness.Histogram{{Value: int64(i), N: 100}}
			}
		}
		var out bytes.Buffer
		if err := WriteDistance(&out, run, 100); err != nil {
			t.Fatal(err)
		}
		out.WriteString(pageOf(t, run))
		for _, bad := range []string{"NaN", "Inf", "%!"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%v: the report has %q", v, bad)
			}
		}
	}
}
