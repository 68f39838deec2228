package mutex_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/stat"
)

// BenchmarkBesideRWMutex compares RWMutex with sync.RWMutex and xsync.RBMutex in neighbouring
// windows of one process, whose order is drawn. An operation is one window for each lock:
//
//	go test -run '^$' -bench BesideRWMutex -benchtime 20x ./mutex
//
// vs-sync and vs-xsync are medians of rates divided by those of the other lock, with their 95
// % intervals. Mops is the rate in millions per second.
func BenchmarkBesideRWMutex(b *testing.B) {
	names := []string{"rw-mutex", "sync-rwmutex", "xsync-rbmutex"}
	for _, reads := range []int{0, 50, 90, 99, 100} {
		for _, workers := range []int{1, 2, 8, 16, 64} {
			b.Run(fmt.Sprintf("reads=%d/workers=%d", reads, workers), func(b *testing.B) {
				var rates [3][]float64
				for b.Loop() {
					for _, i := range rand.Perm(len(names)) {
						l := variant(b, names[i]).Local(harness.Setup{Workers: workers})
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
	type count struct {
		n, sink int
		_       atomics.CacheLinePad
	}
	counts := make([]count, workers)
	shared := 0 // guarded by l
	var stop atomic.Bool
	var ready, wg sync.WaitGroup
	start := make(chan struct{})
	ready.Add(workers)
	for i := range counts {
		wg.Go(func() {
			h, c := l.Worker(i).(harness.RWLocker), &counts[i]
			draw := rand.New(rand.NewPCG(1, uint64(i)))
			ready.Done()
			<-start
			for ; !stop.Load(); c.n++ {
				if draw.IntN(100) < reads {
					h.RLock()
					c.sink += shared
					h.RUnlock()
				} else {
					h.Lock()
					shared++
					h.Unlock()
				}
			}
		})
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	time.Sleep(rateWindow)
	stop.Store(true)
	elapsed := time.Since(begin)
	wg.Wait()
	sum := 0
	for i := range counts {
		sum += counts[i].n
	}
	return float64(sum) / elapsed.Seconds()
}
