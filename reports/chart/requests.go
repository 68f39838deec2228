package chart

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// RequestsRemote draws the requests of an acquisition: a thundering herd is a rising line.
var RequestsRemote = &Chart{
	Name:    "requests-distributed",
	Carries: true,
	Title:   "How many requests does an acquisition cost as workers are added?",
	Doc:     lineDoc + " Counted at the clients, without keep-alives. Herd: an acquisition comes with more than 2.5 notifications. It costs more than a queue if the intervals are more than 0.1 requests apart, which is how exactly such counts repeat.",
	Remote:  true,
	Draw:    DrawRequests,
}

const (
	// herdFrom is the least mean of notifications per acquisition of a herd. A lock with two
	// queues, such as a semaphore, takes two for any number of waiters.
	herdFrom = 2.5

	// wideSpread is the ratio of requests above which a linear axis no longer separates locks.
	wideSpread = 20

	mostHerds = 3 // in the answer

	// requestsRepeat is the repeatability of requests per acquisition between two runs;
	// smaller differences do not count.
	requestsRepeat = 0.1
)

func DrawRequests(g *Group) Picture {
	l := workersChart(g, result.Requests, draw.CountScale)
	l.Format, l.Figure, l.YTitle = numfmt.Number, numfmt.Number, "requests per acquisition"
	if len(l.Lines) == 0 {
		return nothing("No request was counted in this run.")
	}
	// With a herd on a linear axis, all other lines would lie on the axis.
	if logs := workersChart(g, result.Requests, draw.LogScale); logs.Spread() > wideSpread {
		l.Y, l.Lines, l.YTitle = draw.LogScale, logs.Lines, l.YTitle+" (log scale)"
	}
	return ofLines(l, wireAnswer(g)+herdAnswer(g), wireTable(g), g.source(result.Requests))
}

func wireAnswer(g *Group) string {
	w := g.Crowd()
	fs := g.figures(w, result.Requests)
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, no requests were counted.", g.unit(w))
	}
	return fmt.Sprintf("With %s, %s.", g.unit(w), extremes(fs, "the most requests per acquisition", "the fewest", numfmt.Number))
}

// notified returns the notifications per acquisition of s at the most workers, if known.
func (g *Group) notified(s *series) (float64, bool) {
	for _, w := range slices.Backward(g.Workers) {
		if v := s.Cells[w].Summary(result.Notifications); v.N > 0 {
			return v.Median, w > 1
		}
	}
	return 0, false
}

// queue returns the queue without a herd to compare s with, on the same kind of server, of the
// same family if possible, with the fewest requests, or nil.
func (g *Group) queue(s *series) *series {
	if n, ok := g.notified(s); !ok || n <= herdFrom {
		return nil
	}
	var queues []*series
	for _, o := range g.Locks {
		n, ok := g.notified(o)
		if ok && n <= herdFrom && o.Lock.Traits.FIFO && o.Lock.Traits.Needs == s.Lock.Traits.Needs {
			queues = append(queues, o)
		}
	}
	if queues == nil {
		return nil
	}
	last := g.Workers[len(g.Workers)-1]
	cost := func(o *series) float64 { return o.Cells[last].Summary(result.Requests).Median }
	stranger := func(o *series) int {
		if o.Lock.Family == s.Lock.Family {
			return 0
		}
		return 1
	}
	return slices.MinFunc(queues, func(a, b *series) int {
		return cmp.Or(cmp.Compare(stranger(a), stranger(b)), cmp.Compare(cost(a), cost(b)))
	})
}

// dearerFrom returns the least measured number of workers from which s costs more requests
// than queue at every measured number, by their intervals, or 0.
func (g *Group) dearerFrom(s, queue *series) (from int) {
	for _, w := range slices.Backward(g.Workers) {
		x, y := s.Cells[w].Summary(result.Requests), queue.Cells[w].Summary(result.Requests)
		switch {
		case x.N == 0 || y.N == 0:
		case x.Lo-y.Hi <= requestsRepeat:
			return from
		default:
			from = w
		}
	}
	return from
}

// herdAnswer names the herds of g that cost more requests than a queue on the same servers.
func herdAnswer(g *Group) string {
	var parts []string
	for _, s := range g.Locks {
		if q := g.queue(s); q != nil {
			if from := g.dearerFrom(s, q); from > 0 {
				parts = append(parts, fmt.Sprintf("%s more than %s from %s on", s.Lock.Name, q.Lock.Name, numfmt.Plural(from, "worker")))
			}
		}
	}
	if parts == nil {
		return ""
	}
	return " Herds that cost more requests than a queue: " + numfmt.List(parts, mostHerds) + "."
}

func wireTable(g *Group) Table {
	return g.table(nil, withInterval(result.Requests.Unit, result.Requests), withInterval(result.Notifications.Unit, result.Notifications),
		inUnits(g.known(result.ServerCPU, result.ServerMemory, result.Connections)...), metrics(g.inTrips(result.TurnRoundTrips, result.HandoverRoundTrips)...))
}
