package measure

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/internal/machine"
)

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
			samples = f.lead(clock)
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

func (f *ferry) lead(clock machine.Clock) (samples []float64) {
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
