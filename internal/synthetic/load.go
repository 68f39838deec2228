package synthetic

import (
	"math"
	"time"

	"locklab/harness"
)

// Open returns the open-loop result at a rate for the lock of r, a synthetic result of a
// closed loop. Service is in order, with exponential times, at the rate of r on average.
// It has the waits of an M/M/1 queue, or of a growing one.
func Open(r *harness.Result, rate harness.Rate) *harness.Result {
	o := *r
	capacity := float64(r.Ops) / r.Elapsed.Seconds()
	granted := min(float64(rate), capacity)
	load := float64(rate) / capacity
	o.Workload.Rate, o.Handovers, o.Handover, o.Owners, o.Burst, o.Slices = rate, 0, nil, nil, 0, nil
	o.Ops = uint64(granted * r.Elapsed.Seconds())
	o.Open = &harness.OpenLoop{Offered: uint64(float64(rate) * r.Elapsed.Seconds()), Span: r.Elapsed, Lag50: 100, Lag99: 2000}
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
			o.Wait, last = append(o.Wait, harness.Bucket{Value: v}), v
		}
		o.Wait[len(o.Wait)-1].N++
	}
	if load > 1 {
		o.Open.Backlog = o.Open.Offered - o.Ops
		o.Open.Late, o.Open.Behind = o.Open.Offered, o.Open.Backlog
	}
	o.CPU.Time = time.Second
	return &o
}
