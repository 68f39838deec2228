package mutex_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/internal/machine"
	"locklab/internal/stat"
	"locklab/mutex"
)

// The windows of BenchmarkBesideSyncMutex; for waits, longer than 10 ms of the schedulers.
const (
	rateWindow = 50 * time.Millisecond
	waitWindow = 100 * time.Millisecond
)

// BenchmarkBesideSyncMutex compares Mutex with sync.Mutex in neighbouring windows of one
// process, whose order is drawn. An operation is one pair of windows for the rate and one for
// waits:
//
//	go test -run '^$' -bench BesideSyncMutex -benchtime 20x ./mutex
//
// ratio is the median of rates divided by those of sync.Mutex, with its 95 % interval. jain is
// the fairness index of Jain over a window of 100 ms, wait-ms the longest wait in it, cpu the
// processor time for an acquisition divided by the time for one of sync.Mutex: medians again.
func BenchmarkBesideSyncMutex(b *testing.B) {
	for _, hold := range []time.Duration{0, 100, time.Microsecond, 10 * time.Microsecond} {
		for _, workers := range []int{1, 2, 8, 16, 64, 1024, 4800} {
			for _, locked := range []bool{false, true} {
				b.Run(fmt.Sprintf("workers=%d/hold=%v/locked=%v", workers, hold, locked), func(b *testing.B) {
					comparePair(b, situation{workers, spinsFor(hold), locked})
				})
			}
		}
	}
}

func comparePair(b *testing.B, s situation) {
	if s.locked && s.workers > 1024 {
		b.Skip("the Go runtime ends a process of 10,000 threads")
	}
	var ours, theirs samples
	for b.Loop() {
		pair := []func(){
			func() { ours.add(s, new(mutex.Mutex)) },
			func() { theirs.add(s, new(sync.Mutex)) },
		}
		first := rand.IntN(2)
		pair[first]()
		pair[1-first]()
	}
	report(b, &ours, &theirs)
}

func report(b *testing.B, ours, theirs *samples) {
	rate := stat.Paired(ours.rates, theirs.rates, 0.95)
	b.ReportMetric(rate.Median, "ratio")
	b.ReportMetric(rate.Lo, "ratio-low")
	b.ReportMetric(rate.Hi, "ratio-high")
	b.ReportMetric(stat.Paired(ours.cpu, theirs.cpu, 0.95).Median, "cpu")
	b.ReportMetric(stat.Median(ours.jain), "jain")
	b.ReportMetric(stat.Median(theirs.jain), "sync-jain")
	b.ReportMetric(stat.Median(ours.longest), "wait-ms")
	b.ReportMetric(stat.Median(theirs.longest), "sync-wait-ms")
	b.ReportMetric(0, "ns/op")
}

// A situation is how windows use a lock.
type situation struct {
	workers, spins int
	locked         bool // each worker has its own thread
}

type samples struct{ rates, cpu, jain, longest []float64 }

func (s *samples) add(at situation, l sync.Locker) {
	w := at.window(l, rateWindow, false)
	s.rates, s.cpu = append(s.rates, w.rate), append(s.cpu, w.cpu)
	w = at.window(l, waitWindow, true)
	s.jain = append(s.jain, w.jain)
	s.longest = append(s.longest, w.longest.Seconds()*1e3)
}

type window struct {
	rate, cpu, jain float64
	longest         time.Duration
}

// window lets workers take l again and again. If timed, it times each Lock.
func (at situation) window(l sync.Locker, length time.Duration, timed bool) window {
	type count struct {
		n       int
		longest time.Duration
		sink    uint64
		_       atomics.CacheLinePad
	}
	counts := make([]count, at.workers)
	var stop atomic.Bool
	var ready, wg sync.WaitGroup
	start := make(chan struct{})
	ready.Add(at.workers)
	for i := range counts {
		wg.Go(func() {
			if at.locked {
				runtime.LockOSThread() // until the goroutine, and so the thread, ends
			}
			ready.Done()
			<-start
			c := &counts[i]
			for !stop.Load() {
				if timed {
					begin := time.Now()
					l.Lock()
					c.longest = max(c.longest, time.Since(begin))
				} else {
					l.Lock()
				}
				c.sink += spin(at.spins)
				c.n++
				l.Unlock()
			}
		})
	}
	ready.Wait()
	begin, before := time.Now(), machine.ProcessUsage()
	close(start)
	time.Sleep(length)
	stop.Store(true)
	elapsed := time.Since(begin)
	wg.Wait()
	used := machine.ProcessUsage().Sub(before).CPU()
	var sum, squares float64
	var w window
	for i := range counts {
		n := float64(counts[i].n)
		sum, squares, w.longest = sum+n, squares+n*n, max(w.longest, counts[i].longest)
	}
	w.rate, w.cpu, w.jain = sum/elapsed.Seconds(), used.Seconds()/sum, sum*sum/(squares*float64(at.workers))
	return w
}

//go:noinline
func spin(n int) (x uint64) {
	for range n {
		x = x*6364136223846793005 + 1
	}
	return x
}

// spinsFor returns an argument of spin that takes about d: the shortest of some tries.
func spinsFor(d time.Duration) int {
	const n = 100_000
	var sink uint64
	var tries []time.Duration
	for range 20 {
		begin := time.Now()
		sink += spin(n)
		tries = append(tries, time.Since(begin))
	}
	runtime.KeepAlive(sink)
	return int(n * d / slices.Min(tries))
}
