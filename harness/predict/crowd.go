package predict

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
)

// A Machine is the resources that contenders and servers share.
type Machine struct {
	Processors int     // 0 if unknown
	Memory     float64 // bytes, 0 if unknown
}

// A Point is the costs of a lock at a measured number of contenders.
type Point struct {
	Contenders int

	Rate    stat.Summary // handovers per second
	Wait    stat.Summary // median, ns
	Period  stat.Summary // from one handover to the next, ns
	Message stat.Summary // requests and notifications from one handover to the next
	Server  stat.Summary // processor time of the servers from one handover to the next, ns
	Client  stat.Summary // the same for the contenders
	Alloc   stat.Summary // allocations of the contenders for each request and notification
	Got     stat.Summary // processors that worked for servers and contenders at a time

	Acquisition stat.Summary // from one acquisition to the next, ns
	Connections stat.Summary // to the servers, for each contender
	Memory      stat.Summary // of the servers, for each contender, bytes

	asks  stat.Summary // useless requests per second of a waiting contender
	each  stat.Summary // processor time of the servers for a request, ns
	asker stat.Summary // the same for the contenders
}

// A Crowd is the model of one lock among many contenders. Its costs are calibrated by the
// measurements of a run up to some number of contenders. Measurements with more are left
// out, and can refute it.
//
// The time from one handover to the next is the path, which does not grow, and the work
// for each waiter, which does. If a release wakes all waiters, each asks once and the
// costs grow with their number, or with its square if each also reads data that grows
// with them. If waiters poll, it is the time of an acquisition plus the time until one of
// them asks, which falls with their number; the others' requests slow everything down.
// The demands of a handover on processors have the same form. By the utilization law no
// handover takes less than the demand on the busiest of them. By Little's law a contender
// of a FIFO lock waits as many periods as there are contenders, minus its own time: E.
// Lazowska, J. Zahorjan, G. Graham, K. Sevcik, "Quantitative System Performance", 1984,
// chapters 3 and 5.
type Crowd struct {
	Lock   harness.Lock
	Points []Point // measured, ascending

	near    *Model
	machine Machine
	fitted  []Point // part of Points
	own     costs
}

// share is the ratio of the most contenders measured to the most of the calibration:
// extrapolation is tested over the same factor.
const share = 10

// enough is the least number of different contender counts in a calibration.
const enough = 4

// Refuted is the factor by which a prediction may miss a point that was left out: beyond
// it a rate, a wait or a cost is not extrapolated.
const Refuted = 1.5

// NewCrowd returns the model of the lock of m among contenders, measured with each of
// these numbers of workers on a machine. If there is no model, why is the reason in
// words; c still has the measured points.
func NewCrowd(m *Model, workers []int, on Machine) (c *Crowd, why string) {
	c = &Crowd{Lock: m.Lock, near: m, machine: on}
	for _, n := range slices.Sorted(slices.Values(workers)) {
		if p := m.point(n, m.rounds(n)); n > 1 && p.Period.N > 0 && (len(c.Points) == 0 || c.Points[len(c.Points)-1].Contenders != n) {
			c.Points = append(c.Points, p)
		}
	}
	switch {
	case m.Trips == nil:
		return c, "its trips were not counted"
	case m.Trips.Behind == nil:
		return c, several
	case len(c.Points) == 0:
		return c, "no hand-over was measured without a delay"
	}
	most := c.Points[len(c.Points)-1].Contenders
	for _, p := range c.Points {
		if p.Contenders*share <= most && !m.idle(p.Contenders) {
			c.fitted = append(c.fitted, p)
		}
	}
	if len(c.fitted) < enough {
		return c, fmt.Sprintf("was measured with %d numbers of workers up to a tenth of the most, %d, that keep a queue: it takes %d", len(c.fitted), most, enough)
	}
	var ok bool
	if c.own, ok = c.costsOf(c.fitted); !ok {
		return c, "no sum of costs that grow with the contenders fits what was measured"
	}
	return c, ""
}

// idle reports whether the queue of this many workers is sometimes empty.
func (m *Model) idle(workers int) bool {
	b := m.Trips.Behind
	return !b.Polls && (workers-1)*b.Handover.Halves < b.Unlock.Halves+b.Queue.Halves
}

func (m *Model) point(n int, rounds []*harness.Result) Point {
	of := func(f func(r *harness.Result) (float64, bool)) stat.Summary {
		return (&metric.Metric{Of: func(r *harness.Result) (float64, bool) {
			v, ok := f(r)
			return v, ok && v > 0 && v < 1e15
		}}).Summary(rounds)
	}
	each := func(f func(r *harness.Result) (float64, bool)) stat.Summary { // per handover
		return of(func(r *harness.Result) (float64, bool) {
			v, ok := f(r)
			return v / float64(r.Handovers), ok && r.Ordered() && r.Handovers > 0
		})
	}
	perRequest := func(f func(r *harness.Result) (float64, bool)) stat.Summary {
		return of(func(r *harness.Result) (float64, bool) {
			v, ok := f(r)
			return v / requests(r), ok && requests(r) > 0
		})
	}
	return Point{
		Contenders: n,
		Rate:       of(metric.Handovers.Of),
		Wait:       metric.P50.Summary(rounds),
		Period:     each(func(r *harness.Result) (float64, bool) { return float64(r.Elapsed), true }),
		Message: each(func(r *harness.Result) (float64, bool) {
			return messages(r), true
		}),
		Acquisition: of(func(r *harness.Result) (float64, bool) {
			return float64(r.Elapsed) / float64(r.Ops), r.Ops > 0
		}),
		Server: each(serverTime), Client: each(clientTime), Got: of(got),
		Alloc: of(func(r *harness.Result) (float64, bool) {
			return float64(r.CPU.Allocs) / messages(r), r.CPU.Allocs > 0 && messages(r) > 0
		}),
		Connections: of(metric.Connections.Of), Memory: of(metric.ServerMemory.Of),
		asks: of(m.unserved), each: perRequest(serverTime), asker: perRequest(clientTime),
	}
}

func messages(r *harness.Result) float64 {
	if r.Wire == nil {
		return 0
	}
	return float64(r.Wire.Requests) + float64(r.Wire.Notifications)
}

func requests(r *harness.Result) float64 {
	if r.Wire == nil {
		return 0
	}
	return float64(r.Wire.Requests)
}

func serverTime(r *harness.Result) (float64, bool) {
	if r.Servers == nil || r.Servers.CPU == nil {
		return 0, false
	}
	return float64(*r.Servers.CPU), true
}

func clientTime(r *harness.Result) (float64, bool) { return float64(r.CPU.Time), r.CPU.Time > 0 }

func got(r *harness.Result) (float64, bool) {
	server, known := serverTime(r)
	client, told := clientTime(r)
	return (server + client) / float64(r.Elapsed), known && told && r.Elapsed > 0
}

func (m *Model) unserved(r *harness.Result) (float64, bool) {
	if m.Trips == nil || r.Elapsed <= 0 {
		return 0, false
	}
	more := requests(r) - float64(r.Ops)*(m.Trips.Lock.Requests+m.Trips.Unlock.Requests)
	return more / r.Elapsed.Seconds() / float64(r.Workload.Workers), true
}
