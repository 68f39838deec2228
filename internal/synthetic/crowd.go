package synthetic

import (
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
)

// A Crowd is a synthetic distributed lock with known costs among any number of
// contenders: these functions give each figure of a round, without noise.
type Crowd struct {
	Lock  harness.Lock
	Trips *harness.Trips

	Period      func(n float64) time.Duration // from one handover to the next
	Acquisition func(n float64) time.Duration // from one acquisition to the next; nil is Period
	Requests    func(n float64) float64       // from one handover to the next
	Server      func(n float64) time.Duration // processor time of the servers from one handover to the next
	Client      func(n float64) time.Duration // processor time of the contenders from one handover to the next
	Allocs      func(n float64) float64       // of the contenders for each request; nil is not counted
	Release     time.Duration                 // the part of a cycle that is not a wait

	Connections, Memory float64 // of the servers, for each contender
}

// Queue returns a lock that serves in order, with constant costs: a handover takes a
// round trip.
func Queue(name string) Crowd {
	c := Crowd{
		Lock: Served(name, harness.Redis, harness.KindRedis), Trips: queueTrips(),
		Period:   func(float64) time.Duration { return 300 * time.Microsecond },
		Requests: func(float64) float64 { return 3 },
		Server:   func(float64) time.Duration { return 150 * time.Microsecond },
		Client:   func(float64) time.Duration { return 200 * time.Microsecond },
		Release:  40 * time.Microsecond, Connections: 2, Memory: 46e3,
	}
	c.Lock.Traits.FIFO = true
	return c
}

// Herd returns a lock that serves in order; each waiter sends a request after every
// release.
func Herd(name string) Crowd {
	c := Queue(name)
	grow := func(once, each time.Duration) func(n float64) time.Duration {
		return func(n float64) time.Duration { return once + time.Duration(float64(each)*(n-1)) }
	}
	c.Lock.Family, c.Lock.Traits.Needs = harness.ZooKeeper, harness.KindZooKeeper
	c.Period, c.Server, c.Client = grow(500*time.Microsecond, 50*time.Microsecond), grow(200*time.Microsecond, 30*time.Microsecond), grow(200*time.Microsecond, 20*time.Microsecond)
	c.Requests = func(n float64) float64 { return 2 + n }
	c.Connections, c.Memory = 1, 0
	return c
}

// Polling returns a lock that serves in no order; its waiters retry after a pause.
func Polling(name string, pause time.Duration) Crowd {
	c := Queue(name)
	c.Lock.Traits.FIFO = false
	c.Trips = &harness.Trips{Lock: oneTrip, Unlock: oneTrip, Behind: &harness.TripsBehind{Polls: true}}
	const request = 50 * time.Microsecond // of the server; the contenders need the same
	c.Acquisition = func(n float64) time.Duration {
		left := 1 - n/pause.Seconds()*request.Seconds() // share left of two processors
		return time.Duration(float64(2*time.Millisecond) / left)
	}
	c.Period = func(n float64) time.Duration { return c.Acquisition(n) + time.Duration(float64(pause)/n) }
	c.Requests = func(n float64) float64 {
		return 2*float64(c.Period(n))/float64(c.Acquisition(n)) + n*c.Period(n).Seconds()/pause.Seconds()
	}
	c.Server = func(n float64) time.Duration { return time.Duration(float64(request) * c.Requests(n)) }
	c.Client = c.Server
	c.Connections, c.Memory = 1, 23e3
	return c
}

var oneTrip = harness.Leg{Halves: 2, Requests: 1}

func queueTrips() *harness.Trips {
	return &harness.Trips{Lock: oneTrip, Unlock: oneTrip, Behind: &harness.TripsBehind{Queue: oneTrip, Handover: oneTrip, Unlock: oneTrip, Requests: 3}}
}

// Crowds returns a run of locks with those numbers of workers, on a machine of two
// processors.
func Crowds(rounds int, workers []int, locks ...Crowd) *resultfile.Run {
	run := Run(3, rounds, 2, nil)
	run.Manifest.Cases = len(locks) * len(workers)
	run.Manifest.Machine.MemoryMiB = 16 << 10
	for round := range rounds {
		for _, c := range locks {
			for _, n := range workers {
				run.Results = append(run.Results, c.result(round, n))
			}
		}
	}
	return run
}

func (c Crowd) result(round, workers int) *harness.Result {
	const window = 100 * time.Second // so that rounding to whole handovers is negligible
	n := float64(workers)
	r := &harness.Result{
		Lock: c.Lock, Round: round, SampleEvery: 1, ClockFloor: 20, ClockStep: 10, Overlap: 0.99, Elapsed: window,
		Workload: harness.Workload{Workers: workers, Window: window}, Workers: make([]uint64, workers), RoundTrip: 20e3, Trips: c.Trips,
	}
	r.Handovers = uint64(window / c.Period(n))
	r.Ops = r.Handovers
	if c.Acquisition != nil {
		r.Ops = uint64(window / c.Acquisition(n))
	}
	for i := range r.Workers {
		r.Workers[i] = r.Ops / uint64(workers)
	}
	total := float64(r.Handovers)
	r.Wire = &harness.Counts{Requests: uint64(total * c.Requests(n))}
	server := time.Duration(total * float64(c.Server(n)))
	connections, memory := int64(c.Connections*n), int64(c.Memory*n)
	r.Servers = &harness.ServerCost{CPU: &server, Connections: &connections}
	if memory > 0 {
		r.Servers.Memory = &memory
	}
	r.CPU = harness.CPU{Time: time.Duration(total * float64(c.Client(n)))}
	if c.Allocs != nil {
		r.CPU.Allocs = uint64(total * c.Requests(n) * c.Allocs(n))
	}
	wait := n*float64(c.Period(n)) - float64(c.Release)
	if workers == 1 {
		r.Handovers, wait = 0, float64(c.Period(1))
	}
	r.Wait = harness.Histogram{{Value: int64(wait), N: int64(r.Ops)}}
	return r
}
