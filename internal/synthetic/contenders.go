package synthetic

import (
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// A Contended is a made-up distributed lock with known times for any number of contenders,
// without noise.
type Contended struct {
	Lock  result.Lock
	Trips *result.Trips

	Period func(n float64) time.Duration // from one handover to the next
}

// Queue returns a lock that serves in order, with a handover of constant time.
func Queue(name string) Contended {
	trip := result.Leg{Halves: 2, Requests: 1}
	c := Contended{
		Lock:   Served(name, harness.Redis, harness.KindRedis),
		Trips:  &result.Trips{Lock: trip, Unlock: trip, Behind: &result.TripsBehind{Queue: trip, Handover: trip, Unlock: trip, Requests: 3}},
		Period: func(float64) time.Duration { return 300 * time.Microsecond },
	}
	c.Lock.Traits.FIFO = true
	return c
}

// Herd returns a lock that serves in order and whose waiters each send a request after
// every release.
func Herd(name string) Contended {
	c := Queue(name)
	c.Lock.Family, c.Lock.Traits.Needs = harness.ZooKeeper, harness.KindZooKeeper
	c.Period = func(n float64) time.Duration { return time.Duration(500e3 + 50e3*(n-1)) }
	return c
}

// Polling returns a lock that serves in no order and whose waiters ask again after a pause.
func Polling(name string) Contended {
	c := Queue(name)
	c.Lock.Traits.FIFO = false
	c.Trips = &result.Trips{Lock: c.Trips.Lock, Unlock: c.Trips.Unlock, Behind: &result.TripsBehind{Polls: true}}
	c.Period = func(n float64) time.Duration { return time.Duration(2e6 + 1e8/n) }
	return c
}

// Contenders returns a run of locks with these numbers of workers.
func Contenders(rounds int, workers []int, locks ...Contended) *result.Run {
	run := Run(3, rounds, 2, nil)
	run.Manifest.Cases = len(locks) * len(workers)
	for round := range rounds {
		for _, c := range locks {
			for _, n := range workers {
				run.Results = append(run.Results, c.result(round, n))
			}
		}
	}
	return run
}

func (c Contended) result(round, workers int) *result.Result {
	const window = 100 * time.Second // long, so that whole handovers round by little
	n := float64(workers)
	r := &result.Result{
		Lock: c.Lock, Round: round, SampleEvery: 1, ClockFloor: 20, ClockStep: 10, Overlap: 0.99, Elapsed: window,
		Workload: harness.Workload{Workers: workers, Window: window}, Workers: make([]uint64, workers), RoundTrip: 20e3, Trips: c.Trips,
	}
	r.Handovers = uint64(window / c.Period(n))
	r.Ops = r.Handovers
	for i := range r.Workers {
		r.Workers[i] = r.Ops / uint64(workers)
	}
	wait := n*float64(c.Period(n)) - 40e3 // the rest of a contender's cycle
	if workers == 1 {
		r.Handovers, wait = 0, float64(c.Period(1))
	}
	r.Wait = result.Histogram{{Value: int64(wait), N: int64(r.Ops)}}
	return r
}
