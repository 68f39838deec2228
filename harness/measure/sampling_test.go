package measure

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

// orders are strictly periodic orders of service; in two a worker's waits alternate in length.
var orders = []struct {
	name    string
	workers []int
}{
	{"rotation of 2", []int{0, 1}},
	{"rotation of 8", []int{0, 1, 2, 3, 4, 5, 6, 7}},
	{"there and back, 4", []int{0, 1, 2, 3, 3, 2, 1, 0}},
	{"there and back, 8", []int{0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0}},
}

// TestSamplesKeepNoStep: in a periodic order each place has its share of the timed waits and
// handovers.
func TestSamplesKeepNoStep(t *testing.T) {
	const uses = 1 << 17
	for _, o := range orders {
		for _, every := range []int{1, 4, 16, 64} {
			waits, handovers := timedPlaces(t, o.workers, every, uses)
			uniform(t, o.name+", waits", waits, every, uses/len(o.workers))
			uniform(t, o.name+", hand-overs", handovers, every, uses/len(o.workers))
		}
	}
}

// timedPlaces counts timed waits and handovers at each place of order.
func timedPlaces(t *testing.T, order []int, every, uses int) (waits, handovers []int64) {
	t.Helper()
	d := &drive{control: newControl(Limit{Window: time.Hour}, 1), tuning: tuning{sampleEvery: every}, rig: &Rig{in: instruments(), job: Job{Seed: 5}}}
	workers := make([]*localWorker, slices.Max(order)+1)
	for i := range workers {
		workers[i] = newLocalWorker(d, i, nil)
	}
	s := newSection(d)
	places := make([]*tally, len(order)) // one tally per place, not per worker
	for i := range places {
		places[i] = new(tally)
	}
	for i := range uses {
		w := workers[order[i%len(order)]]
		w.t = places[i%len(order)]
		w.batch(s, noLock{}, 1, true)
	}
	for i, y := range places {
		waits = append(waits, y.wait.Snapshot().Count())
		n := y.handover.Snapshot().Count()
		if order[i] != order[(i+len(order)-1)%len(order)] {
			handovers = append(handovers, n)
		} else if n > 0 {
			t.Errorf("order %v: %d hand-overs at place %d, from a worker to itself", order, n, i)
		}
	}
	return waits, handovers
}

// uniform checks that counts scatter like random samples, within five deviations.
func uniform(t *testing.T, what string, counts []int64, every, all int) {
	t.Helper()
	expected := float64(all) / float64(every)
	spread := 1 - 1/float64(every) // the variance of a count, over its mean
	chi, free := 0.0, float64(len(counts))
	for _, n := range counts {
		if every == 1 && math.Abs(float64(n)-expected) > 1 {
			t.Errorf("%s: %d of %d timed, want all", what, n, all)
		}
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	if every > 1 && chi/spread > free+5*math.Sqrt(2*free) {
		t.Errorf("%s, one in %d: %v timed at the places, want %.0f each: chi-squared is %.1f of %.0f", what, every, counts, expected, chi/spread, free)
	}
}

func TestGaps(t *testing.T) {
	for _, every := range []int{1, 2, 64, 1024} {
		s, p := samplerOf(every, 3), 1/float64(every)
		const n = 200_000
		sum, next := 0.0, 0.0
		for range n {
			g := s.gap()
			if g == 0 || every == 1 && g != 1 {
				t.Fatalf("one in %d: a gap of %d", every, g)
			}
			sum += float64(g)
			if g == 1 {
				next++
			}
		}
		dev := math.Sqrt(1-p) / p / math.Sqrt(n)
		if mean := sum / n; math.Abs(mean-float64(every)) > 5*dev+1e-9 {
			t.Errorf("one in %d: the mean gap is %v", every, mean)
		}
		if share := next / n; math.Abs(share-p) > 5*math.Sqrt(p*(1-p)/n)+1e-9 {
			t.Errorf("one in %d: after a timed acquisition the next one is timed with %v, want %v", every, share, p)
		}
	}
}

// An orderedLock serves in a strictly periodic order with one slow handover, and times all
// itself.
type orderedLock struct {
	order  []int
	slow   int // place after a slow handover
	over   func() bool
	grants []chan struct{} // by worker: the lock is granted to it
	ended  chan struct{}   // the order has ended
	close  sync.Once       // of ended

	mu              sync.Mutex
	place           int // of the holder
	last            int
	released        time.Time
	waits, long     int // all, and those as long as a slow hand-over
	handed, longest int // the same for handovers
}

// slowly is longer than other handovers, unless they lose their processor.
const slowly = 100 * time.Microsecond

func newOrderedLock(order []int, slow int) *orderedLock {
	l := &orderedLock{order: order, slow: slow, place: -1, last: -1, ended: make(chan struct{})}
	for range slices.Max(order) + 1 {
		l.grants = append(l.grants, make(chan struct{}, 1))
	}
	l.grants[order[0]] <- struct{}{}
	return l
}

func (l *orderedLock) Worker(i int) sync.Locker { return &orderedHandle{l, i} }

type orderedHandle struct {
	*orderedLock
	id int
}

func (h *orderedHandle) Lock() {
	asked := time.Now()
	h.await()
	h.mu.Lock()
	h.place++
	now := time.Now()
	h.waits++
	if now.Sub(asked) >= slowly/2 {
		h.long++
	}
	if h.last >= 0 && h.last != h.id {
		h.handed++
		if now.Sub(h.released) >= slowly/2 {
			h.longest++
		}
	}
	h.last = h.id
}

// await waits for the grant to h, or for the end: the granted worker may have left.
func (h *orderedHandle) await() {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-h.grants[h.id]:
			return
		case <-h.ended:
			return
		case <-poll.C:
			if h.over() {
				h.end()
			}
		}
	}
}

func (h *orderedHandle) Unlock() {
	h.released = time.Now()
	next := (h.place + 1) % len(h.order)
	for next == h.slow && time.Since(h.released) < slowly {
	}
	over := h.over()
	h.mu.Unlock()
	if over {
		h.end()
		return
	}
	h.grants[h.order[next]] <- struct{}{}
}

// end admits everybody: an order would wait for workers that have left.
func (h *orderedHandle) end() { h.close.Do(func() { close(h.ended) }) }

// TestSamplesAreLikeTheRest: samples have a slow place at its actual frequency.
func TestSamplesAreLikeTheRest(t *testing.T) {
	for _, c := range []struct {
		name      string
		order     []int
		slow      int
		reads     int // in a hundred: uses the loop of readers
		handovers bool
	}{
		{"rotation of 4, hand-overs", []int{0, 1, 2, 3}, 3, 0, true},
		{"there and back, waits", []int{0, 1, 1, 0}, 2, 0, false},
		{"there and back, waits of the loop of readers", []int{0, 1, 1, 0}, 2, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			lock := newOrderedLock(c.order, c.slow)
			v := &harness.Variant{Name: "ordered", Doc: "d", Paper: "p", Family: harness.Spin, Local: func(harness.Setup) harness.Local { return lock }}
			job := Job{Lock: v, Seed: 7, Workload: harness.Workload{Workers: slices.Max(c.order) + 1, Reads: c.reads, Window: 300 * time.Millisecond}}
			rig, err := Open(t.Context(), instruments(), job)
			if err != nil {
				t.Fatal(err)
			}
			defer rig.Close()
			const every = 4
			d := &drive{control: newControl(Limit{Window: job.Workload.Window}, 1), rig: rig, tuning: tuning{sampleEvery: every, batch: 1, expected: 1 << 14}}
			for range job.Workload.Workers {
				d.tallies = append(d.tallies, new(tally))
			}
			lock.over = d.control.over
			r := rig.loop.drive(t.Context(), d)
			if len(r.Violations) > 0 {
				t.Fatal(r.Violations)
			}
			if c.handovers {
				alike(t, r.Handover, lock.handed, lock.longest)
			} else {
				alike(t, r.Wait, lock.waits, lock.long)
			}
		})
	}
}

// alike checks the share of long spans among the samples, within five deviations.
func alike(t *testing.T, samples harness.Histogram, all, long int) {
	t.Helper()
	var n, over int64
	for _, b := range samples {
		n += b.N
		if b.Value >= int64(slowly/2) {
			over += b.N
		}
	}
	want := float64(long) / float64(all)
	dev := math.Sqrt(want * (1 - want) / float64(n))
	got := float64(over) / float64(n)
	t.Logf("%d of %d are long, %.1f %%; of %d samples %.1f %%, give or take %.1f", long, all, 100*want, n, 100*got, 100*dev)
	if n < 50 || math.Abs(got-want) > 5*dev+0.02 {
		t.Errorf("%.1f %% of %d samples are long, but %.1f %% of all", 100*got, n, 100*want)
	}
}

func TestLogKeepsNoStep(t *testing.T) {
	const total, drives = 16 * 16 * result.BurstHolds, 400
	seen := make([]int64, 16)
	for seed := range uint64(drives) {
		l := result.NewOwnerLog(total-1, seed)
		for n := range uint64(total) {
			l.Record(n, int(n/result.BurstHolds%16))
		}
		owners, burst := l.Owners(total)
		if burst != result.BurstHolds || len(owners) != 16*result.BurstHolds {
			t.Fatalf("%d owners in bursts of %d", len(owners), burst)
		}
		for i := 0; i < len(owners); i += burst {
			seen[owners[i]]++
		}
	}
	uniform(t, "bursts of the owner log", seen, 16, drives*16)
}
