package page

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
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
	if text := textOf(t, Report(contended())); strings.Contains(text, chart.ContendersTitle) {
		t.Errorf("nothing was asked for, and the terminal has predictions:\n%s", text)
	}
}
