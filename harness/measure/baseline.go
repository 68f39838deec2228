package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/stat"
	wireredis "locklab/internal/wire/redis"
	wirezk "locklab/internal/wire/zookeeper"
)

// A baseline is a time that a lock can hardly beat, measured right before and after a window:
// a transfer of a cache line, or a round trip to the server. The least ratios of the times
// before and after that mean two regimes:
const (
	transferChange  = 1.5
	roundTripChange = 2
)

// bracket sets the baseline of r from both probes, and warns if they disagree.
func bracket(r *result.Result, before, after []float64) {
	if len(before) == 0 || len(after) == 0 {
		return // a single probe cannot show whether the regime held
	}
	a, b, middle := stat.Median(before), stat.Median(after), stat.Median(slices.Concat(before, after))
	w, change := machine.Warning{}, transferChange
	if server := r.Lock.Traits.Needs; server == "" {
		r.Transfer = middle
		w = machine.Warning{
			Kind:   "transfer",
			Text:   fmt.Sprintf("a word took %.0f ns from one processor to the other before the window and %.0f ns after it", a, b),
			Remedy: "compare handovers in transfers only between rounds without this warning; on a virtual machine, have its processors bound to the host's",
		}
	} else {
		r.RoundTrip, change = middle, roundTripChange
		w = machine.Warning{
			Kind:   "round-trip",
			Text:   fmt.Sprintf("a bare request to %s took %.0f µs before the window and %.0f µs after it", server, a/1e3, b/1e3),
			Remedy: "compare figures in round trips only between rounds without this warning; if client and server share few processors, a request takes one of two times, such as 30 or 160 µs to Redis, depending on their placement: give the server its own machine or processors",
		}
	}
	if max(a, b) > change*min(a, b) {
		r.Warnings = append(r.Warnings, w)
	}
}

// probe returns the times of a baseline: transfers between two processors, or round trips to
// the server. It returns nil if workers are stuck, which may occupy the processors.
func (r *Rig) probe(ctx context.Context) []float64 {
	switch {
	case r.dead:
		return nil
	case r.job.Lock.Local != nil:
		return transfers(r.in.Clock, r.in.Topology.CPUs())
	}
	return roundTrips(ctx, r.in.Clock, r.job.At)
}

// DriveProbed is Drive between two probes of a transfer or a round trip, each of some
// milliseconds. It calls start and stop right before and after Drive.
func (r *Rig) DriveProbed(ctx context.Context, limit Limit, start, stop func()) (*result.Result, error) {
	return r.probed(ctx, func() (*result.Result, error) {
		start()
		defer stop()
		return r.Drive(ctx, limit)
	})
}

func (r *Rig) probed(ctx context.Context, drive func() (*result.Result, error)) (*result.Result, error) {
	before := r.probe(ctx)
	res, err := drive()
	if err == nil && len(before) > 0 {
		bracket(res, before, r.probe(ctx))
	}
	return res, err
}

// Two threads pass a word to and fro with compare-and-swap. No handover can take less, so it
// is the unit of handovers. The time is bimodal and changes on a shared machine, so each
// window has its own figure.
//
// Source of the method: N. Viennot, core-to-core-latency, 2022.
const (
	transferSpan    = time.Millisecond     // of a probe, approximately
	transferTrips   = 128                  // round trips of a sample
	transferMost    = 255                  // samples of a probe
	transferLeast   = 9                    // samples that a median needs
	transferPatient = 5 * time.Millisecond // time limit for a thread without a processor
	transferPoll    = 1024                 // failed tries between two readings of the clock
)

// A ferry is the word that two threads pass to and fro.
type ferry struct {
	_    atomics.CacheLinePad
	side atomic.Uint32 // which thread may write, 0 or 1
	_    atomics.CacheLinePad
	stop atomic.Bool // the leader has left
	_    atomics.CacheLinePad
}

// transfers returns one-way times in ns, or nil if no two bound threads ran at once.
func transfers(clock machine.Clock, cpus []int) []float64 {
	if len(cpus) < 2 || cpus[0] == cpus[1] {
		return nil
	}
	if procs := runtime.GOMAXPROCS(0); procs < 2 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(procs)
	}
	f := new(ferry)
	ready := make(chan error)
	var samples []float64
	var both sync.WaitGroup
	both.Go(func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := machine.PinThread(cpus[1])
		ready <- err
		if err == nil {
			f.follow()
		}
	})
	both.Go(func() {
		runtime.LockOSThread()
		err := machine.PinThread(cpus[0])
		if other := <-ready; err == nil && other == nil {
			samples = f.timeTrips(clock)
		}
		f.stop.Store(true)
	})
	both.Wait()
	if len(samples) < transferLeast {
		return nil
	}
	return samples
}

func (f *ferry) follow() {
	for {
		for tries := 1; !f.side.CompareAndSwap(1, 0); tries++ {
			if tries%transferPoll == 0 && f.stop.Load() {
				return
			}
		}
	}
}

func (f *ferry) timeTrips(clock machine.Clock) (samples []float64) {
	samples = make([]float64, 0, transferMost)
	begin := clock.Now()
	if !f.trips(clock, begin) { // the first trips bring the line and the threads together
		return nil
	}
	begin = clock.Now()
	for len(samples) < transferMost {
		start := clock.Now()
		if !f.trips(clock, start) {
			return samples
		}
		end := clock.Now()
		samples = append(samples, float64(clock.Nanoseconds(end-start))/(2*transferTrips))
		if clock.Nanoseconds(end-begin) > int64(transferSpan) {
			return samples
		}
	}
	return samples
}

// trips makes the round trips of a sample, and reports whether they ended in time. The last
// way back belongs to the next sample, and the way before the first belongs to this one.
func (f *ferry) trips(clock machine.Clock, start uint64) bool {
	for range transferTrips {
		for tries := 1; !f.side.CompareAndSwap(0, 1); tries++ {
			if tries%transferPoll == 0 && clock.Nanoseconds(clock.Now()-start) > int64(transferPatient) {
				return false
			}
		}
	}
	return true
}

// A lock that waits for an answer cannot beat a bare request, so it is the unit of its times.
// A connection sends one request at a time. It is open during the probe only, so that the
// window has no additional client, and runs anywhere: a client of a socket is woken there.
const (
	tripsMost     = 200                   // samples of a probe
	tripsLeast    = 5                     // samples that a median needs
	tripsSpan     = 10 * time.Millisecond // of a probe, if that gives enough
	tripsSkipped  = 3                     // the first ones open the connection and warm it up
	tripsPatience = 2 * time.Second       // with a server, all together
)

// roundTrips returns the times of bare requests to the first server, in ns, or nil if it does
// not answer: the lock will fail if it needs that server.
func roundTrips(ctx context.Context, clock machine.Clock, at harness.Endpoint) []float64 {
	ctx, cancel := context.WithTimeout(ctx, tripsPatience)
	defer cancel()
	ask, end, err := dial(ctx, at)
	if err != nil {
		return nil
	}
	defer end()
	for range tripsSkipped {
		if ask(ctx) != nil {
			return nil
		}
	}
	samples := make([]float64, 0, tripsMost)
	begin := clock.Now()
	for len(samples) < tripsMost {
		start := clock.Now()
		if ask(ctx) != nil {
			return nil
		}
		now := clock.Now()
		samples = append(samples, float64(clock.Nanoseconds(now-start)))
		if len(samples) >= tripsLeast && clock.Nanoseconds(now-begin) > int64(tripsSpan) {
			break
		}
	}
	return samples
}

// RoundTrip returns the current time of a bare request to the first server of at and its
// answer, in ns by clock: the median of some, 0 if the server does not answer.
func RoundTrip(ctx context.Context, clock machine.Clock, at harness.Endpoint) float64 {
	samples := roundTrips(ctx, clock, at)
	if len(samples) == 0 {
		return 0
	}
	return stat.Median(samples)
}

// dial returns a function that sends a bare request to the first server of at and waits for the
// answer, and one that ends the connection.
func dial(ctx context.Context, at harness.Endpoint) (ask func(context.Context) error, end func(), err error) {
	if len(at.Addrs) == 0 || len(at.Addrs[0]) == 0 {
		return nil, nil, fmt.Errorf("measure: %w: an endpoint of kind %q without an address", harness.ErrUsage, at.Kind)
	}
	at.Addrs = [][]string{at.Addrs[0][:1]}
	switch at.Kind {
	case harness.KindRedis:
		return dialRedis(at)
	case harness.KindZooKeeper:
		return dialZooKeeper(ctx, at)
	}
	return nil, nil, fmt.Errorf("measure: %w: no bare request to a server of kind %q is known", harness.ErrUsage, at.Kind)
}

func dialRedis(at harness.Endpoint) (ask func(context.Context) error, end func(), err error) {
	client, _, err := wireredis.Connect(at, func(o *redis.Options) { o.PoolSize = 1 })
	if err != nil {
		return nil, nil, err
	}
	bare := func(ctx context.Context) error { return client.Ping(ctx).Err() }
	ask = func(ctx context.Context) error {
		err := bare(ctx)
		if err != nil && strings.HasPrefix(err.Error(), "NOPERM ") {
			// A user with rights only to locks of this lab may request the time. A refusal
			// takes as long, but fills the server's ACL LOG.
			bare = func(ctx context.Context) error { return client.Time(ctx).Err() }
			err = bare(ctx)
		}
		return err
	}
	return ask, func() { client.Close() }, nil
}

func dialZooKeeper(ctx context.Context, at harness.Endpoint) (ask func(context.Context) error, end func(), err error) {
	conn, err := wirezk.Connect(ctx, at, wirezk.Options{})
	if err != nil {
		return nil, nil, err
	}
	// The library's requests take no context. Closing ends them.
	keep := context.AfterFunc(ctx, conn.Close)
	ask = func(context.Context) error {
		_, _, err := conn.Exists("/")
		return err
	}
	return ask, func() { keep(); conn.Close() }, nil
}
