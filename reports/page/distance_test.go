package page

import (
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
