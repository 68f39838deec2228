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

	"locklab/harness"
	"locklab/internal/machine"
	"locklab/internal/stat"
	"locklab/mutex"
	"locklab/mutex/lab"
)

// The windows of BenchmarkAgainstSyncMutex; for waits, longer than 10 ms of the schedulers.
const (
	rateWindow = 50 * time.Millisecond
	waitWindow = 100 * time.Millisecond
)

// BenchmarkAgainstSyncMutex compares Mutex with sync.Mutex in neighbouring windows of one
// process, whose order is drawn. An operation is one pair of windows for the rate and one for
// waits:
//
//	go test -run '^$' -bench AgainstSyncMutex -benchtime 20x ./mutex
//
// ratio is the median of rates divided by those of sync.Mutex, with its 95 % interval. jain is
// the fairness index of Jain over a window of 100 ms, wait-ms the longest wait in it, cpu the
// processor time for an acquisition divided by the time for one of sync.Mutex: medians again.
func BenchmarkAgainstSyncMutex(b *testing.B) {
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
	reportRatios(b, &ours, &theirs)
}

func reportRatios(b *testing.B, ours, theirs *samples) {
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
func (at situation) window(l sync.Locker, length time.Duration, timed bool) (w window) {
	longest := make([]time.Duration, at.workers)
	counts, elapsed, used := countTurns(at.workers, length, at.locked, func(i int, stop *atomic.Bool) (n int) {
		var most time.Duration
		var sink uint64
		for ; !stop.Load(); n++ {
			if timed {
				begin := time.Now()
				l.Lock()
				most = max(most, time.Since(begin))
			} else {
				l.Lock()
			}
			sink += spinSteps(at.spins)
			l.Unlock()
		}
		longest[i] = most
		runtime.KeepAlive(sink)
		return n
	})
	n := total(counts)
	return window{rate: n / elapsed.Seconds(), cpu: used.Seconds() / n, jain: stat.Jain(counts), longest: slices.Max(longest)}
}

func total(counts []int) (sum float64) {
	for _, n := range counts {
		sum += float64(n)
	}
	return sum
}

// countTurns runs loop once for each worker, until stop is set after length. It returns the
// results of loop, the time until stop, and the processor time.
func countTurns(workers int, length time.Duration, locked bool, loop func(i int, stop *atomic.Bool) int) (counts []int, elapsed, cpu time.Duration) {
	counts = make([]int, workers)
	var stop atomic.Bool
	var ready, wg sync.WaitGroup
	start := make(chan struct{})
	ready.Add(workers)
	for i := range counts {
		wg.Go(func() {
			if locked {
				runtime.LockOSThread() // until the goroutine, and so the thread, ends
			}
			ready.Done()
			<-start
			counts[i] = loop(i, &stop)
		})
	}
	ready.Wait()
	begin, before := time.Now(), machine.ProcessUsage()
	close(start)
	time.Sleep(length)
	stop.Store(true)
	elapsed = time.Since(begin)
	wg.Wait()
	return counts, elapsed, machine.ProcessUsage().Sub(before).CPU()
}

//go:noinline
func spinSteps(n int) (x uint64) {
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
		sink += spinSteps(n)
		tries = append(tries, time.Since(begin))
	}
	runtime.KeepAlive(sink)
	return int(n * d / slices.Min(tries))
}

// BenchmarkAgainstRWMutex compares RWMutex with sync.RWMutex and xsync.RBMutex in neighbouring
// windows of one process, whose order is drawn. An operation is one window for each lock:
//
//	go test -run '^$' -bench AgainstRWMutex -benchtime 20x ./mutex
//
// vs-sync and vs-xsync are medians of rates divided by those of the other lock, with their 95
// % intervals. Mops is the rate in millions per second.
func BenchmarkAgainstRWMutex(b *testing.B) {
	names := []string{"rw-mutex", "sync-rwmutex", "xsync-rbmutex"}
	for _, reads := range []int{0, 50, 90, 99, 100} {
		for _, workers := range []int{1, 2, 8, 16, 64} {
			b.Run(fmt.Sprintf("reads=%d/workers=%d", reads, workers), func(b *testing.B) {
				var rates [3][]float64
				for b.Loop() {
					for _, i := range rand.Perm(len(names)) {
						at := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == names[i] })
						l := lab.Suite[at].Local(harness.Setup{Workers: workers})
						rates[i] = append(rates[i], rwRate(l, workers, reads))
					}
				}
				b.ReportMetric(stat.Median(rates[0])/1e6, "Mops")
				for i, name := range []string{"sync", "xsync"} {
					r := stat.Paired(rates[0], rates[i+1], 0.95)
					b.ReportMetric(r.Median, "vs-"+name)
					b.ReportMetric(r.Lo, "vs-"+name+"-low")
					b.ReportMetric(r.Hi, "vs-"+name+"-high")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// rwRate lets workers take l again and again for one window, as readers by a share in
// percent, and returns the acquisitions per second.
func rwRate(l harness.Local, workers, reads int) float64 {
	shared := 0 // guarded by l
	counts, elapsed, _ := countTurns(workers, rateWindow, false, func(i int, stop *atomic.Bool) (n int) {
		h, sink := l.Worker(i).(harness.RWLocker), 0
		draw := rand.New(rand.NewPCG(1, uint64(i)))
		for ; !stop.Load(); n++ {
			if draw.IntN(100) < reads {
				h.RLock()
				sink += shared
				h.RUnlock()
			} else {
				h.Lock()
				shared++
				h.Unlock()
			}
		}
		runtime.KeepAlive(sink)
		return n
	})
	return total(counts) / elapsed.Seconds()
}
