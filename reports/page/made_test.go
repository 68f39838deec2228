package page

import (
	"math"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// openLoop returns the open-loop result at a rate for the lock of r, a synthetic result of a
// closed loop. Service is in order, with exponential times, at the rate of r on average.
// It has the waits of an M/M/1 queue, or of a growing one.
func openLoop(r *result.Result, rate harness.Rate) *result.Result {
	o := *r
	capacity := float64(r.Ops) / r.Elapsed.Seconds()
	granted := min(float64(rate), capacity)
	load := float64(rate) / capacity
	o.Workload.Rate, o.Handovers, o.Handover, o.Owners, o.Burst, o.BucketCounts = rate, 0, nil, nil, 0, nil
	o.Ops = uint64(granted * r.Elapsed.Seconds())
	o.Open = &result.OpenLoop{Offered: uint64(float64(rate) * r.Elapsed.Seconds()), Span: r.Elapsed, Backlog: 20, Lag50: 100, Lag99: 2000}
	o.Wait = nil
	const n = 5000
	service := 1e9 / capacity
	last := int64(-1)
	for i := range n {
		q := (float64(i) + 0.5) / n
		wait := service / 5 // wait of a request without contention
		if load >= 1 {
			wait += float64(r.Elapsed) * (1 - 1/load) * q
		} else if q > 1-load {
			wait += service / (1 - load) * math.Log(load/(1-q))
		}
		if v := int64(wait); v > last {
			o.Wait, last = append(o.Wait, result.Bucket{Value: v}), v
		}
		o.Wait[len(o.Wait)-1].N++
	}
	if load > 1 {
		o.Open.Backlog = o.Open.Offered - o.Ops
		o.Open.Late, o.Open.Behind = o.Open.Offered, o.Open.Backlog
	}
	return &o
}

// simulations returns synthetic simulations of locks on a machine with that many sockets
// and cores in each, one for each number of workers that it has threads for. The same
// arguments give the same results. Lock number i loses i tenths of its rate with each
// doubling of the workers, and the same again beyond the first socket.
func simulations(machine string, sockets, cores int, workers []int, locks ...result.Lock) (out []*result.Simulation) {
	for i, lock := range locks {
		for _, w := range workers {
			if w > sockets*cores {
				continue
			}
			s := &result.Simulation{
				Simulated: machine, Sockets: sockets, Clusters: 1, Cores: cores, SMT: 1, Lock: lock, Workers: w,
				Hold: 100, Wait: harness.WaitPause, Seed: 1, Seeds: 3, OnCores: w, OnSockets: (w + cores - 1) / cores,
			}
			loss := math.Pow(1+float64(i)/10, math.Log2(float64(w)))
			if s.OnSockets > 1 {
				loss *= 1 + float64(i)/10
			}
			of := func(median float64) result.Expected {
				return result.Expected{Median: median, Lo: 0.9 * median, Hi: 1.1 * median}
			}
			s.PerAcquisition = of(150 * loss)
			if w > 1 {
				s.Handover = of(50 * loss)
			}
			out = append(out, s)
		}
	}
	return out
}

// failoverHistory returns a synthetic history of a failover that gave a lock to two holders. A
// worker holds it, the server is lost, and another worker is granted the lock before the
// first has released it or noticed.
func failoverHistory() oracle.History {
	at := func(ms int) int64 { return int64(ms) * int64(time.Millisecond) }
	h := oracle.History{
		{At: at(0), Worker: 0, Kind: oracle.Asked}, {At: at(3), Worker: 0, Kind: oracle.Granted, Token: 41},
		{At: at(20), Worker: 1, Kind: oracle.Asked}, {At: at(30), Worker: 2, Kind: oracle.Asked},
		{At: at(60), Worker: 0, Kind: oracle.Releasing}, {At: at(62), Worker: 0, Kind: oracle.Released},
		{At: at(64), Worker: 1, Kind: oracle.Granted, Token: 42},
		{At: at(90), Worker: 1, Kind: oracle.Wrote, Token: 42, Taken: true},
		{At: at(110), Worker: -1, Kind: oracle.Fault, Text: "the primary was killed, its replica promoted"},
		{At: at(170), Worker: 2, Kind: oracle.Granted, Token: 43},
		{At: at(200), Worker: 2, Kind: oracle.Wrote, Token: 43, Taken: true},
		{At: at(215), Worker: 1, Kind: oracle.Wrote, Token: 42},
		{At: at(260), Worker: 1, Kind: oracle.Told, Text: "not renewed"},
		{At: at(275), Worker: 1, Kind: oracle.Wrote, Token: 42},
		{At: at(300), Worker: 2, Kind: oracle.Releasing}, {At: at(304), Worker: 2, Kind: oracle.Released},
		{At: at(310), Worker: -1, Kind: oracle.Over, Text: "the link is whole again"},
		{At: at(320), Worker: 0, Kind: oracle.Asked}, {At: at(330), Worker: 0, Kind: oracle.Failed, Text: "connection reset"},
	}
	h.Sort()
	return h
}
