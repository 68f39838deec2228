package predict

import (
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/stat"
)

type costs struct {
	work

	// For waiters that poll. asks is the useless requests per second of each. busy is
	// the time of the busiest processors per request, in seconds. acquisition is the
	// time from one acquisition to the next by any worker, in ns. A handover takes at
	// least that long, and until one of the waiters happens to ask.
	asks, busy, acquisition float64

	release float64 // the part of a contender's cycle that is not waiting, ns
}

func (c *Crowd) costsOf(points []Point) (k costs, ok bool) {
	polls := c.Polls()
	if polls {
		k.asks = middle(points, func(p Point) stat.Summary { return p.asks })
		k.busy = c.busiest(middle(points, func(p Point) stat.Summary { return p.each }), middle(points, func(p Point) stat.Summary { return p.asker })) / 1e9
		k.acquisition = middle(points, func(p Point) stat.Summary { return p.Acquisition })
		rest := readings(points, func(p Point) stat.Summary { return p.Period })
		for i, r := range rest {
			rest[i].cost -= k.acquisition * k.stretch(r.contenders)
		}
		rest = slices.DeleteFunc(rest, func(r reading) bool { return !(r.cost > 0) })
		if k.period, ok = calibrate(rest, shared); !ok || len(rest) < len(points)-1 {
			return k, false
		}
	} else if k.work, ok = workOf(points); !ok {
		return k, false
	}
	k.release = releaseOf(points)
	return k, true
}

func (c *Crowd) refit(k costs, points []Point) (_ costs, ok bool) {
	if c.Polls() {
		return c.costsOf(points)
	}
	k.work, ok = k.work.refit(points)
	k.release = releaseOf(points)
	return k, ok
}

// releaseOf returns the part of a contender's cycle that is not waiting, in ns.
func releaseOf(points []Point) float64 {
	var rest []float64
	for _, p := range points {
		if p.Wait.N > 0 {
			rest = append(rest, float64(p.Contenders)*p.Period.Median-p.Wait.Median)
		}
	}
	if len(rest) == 0 {
		return 0
	}
	return max(0, stat.Median(rest))
}

func readings(points []Point, of func(p Point) stat.Summary) (out []reading) {
	for _, p := range points {
		if v := of(p); v.N > 0 && v.Median > 0 {
			out = append(out, reading{float64(p.Contenders), v.Median})
		}
	}
	return out
}

func middle(points []Point, of func(p Point) stat.Summary) float64 {
	var vs []float64
	for _, r := range readings(points, of) {
		vs = append(vs, r.cost)
	}
	if len(vs) == 0 {
		return 0
	}
	return stat.Median(vs)
}

func (l law) grows() bool { return l.at(1e6) > l.at(1) }

// stretch is the lengthening of a request by other requests, as a factor: the residence
// time of processor sharing, 1/(1-ρ), with the utilization ρ by useless requests alone;
// infinite if these take all capacity.
func (k costs) stretch(n float64) float64 {
	if rho := k.asks * k.busy * n; rho < 1 {
		return 1 / (1 - rho)
	}
	return math.Inf(1)
}

// servers returns the number of processors that the servers of the lock can use at a
// time. Redis runs commands in one thread.
func (c *Crowd) servers() float64 {
	all := math.Inf(1)
	if c.machine.Processors > 0 {
		all = float64(c.machine.Processors)
	}
	if c.Lock.Traits.Needs == harness.KindRedis {
		return min(float64(max(1, c.Lock.Traits.Servers)), all)
	}
	return all
}

// busiest returns the time of the busiest resource for work that takes this time of the
// servers and of the contenders: the servers, or all processors of the machine.
func (c *Crowd) busiest(server, client float64) float64 {
	busy := server / c.servers()
	if c.machine.Processors > 0 {
		busy = max(busy, (server+client)/float64(c.machine.Processors))
	}
	return busy
}

func (c *Crowd) period(k costs, n float64) float64 {
	if c.Polls() {
		return k.acquisition*k.stretch(n) + k.period.at(n)
	}
	return max(k.takes(n), c.busiest(k.server.at(n), k.client.at(n)))
}
