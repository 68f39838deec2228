package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
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
			checkUniform(t, o.name+", waits", waits, every, uses/len(o.workers))
			checkUniform(t, o.name+", handovers", handovers, every, uses/len(o.workers))
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
	s := newCriticalSection(d)
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
			t.Errorf("order %v: %d handovers at place %d, from a worker to itself", order, n, i)
		}
	}
	return waits, handovers
}

// checkUniform checks that counts scatter like random samples, within five deviations.
func checkUniform(t *testing.T, what string, counts []int64, every, all int) {
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
	checkUniform(t, "bursts of the owner log", seen, 16, drives*16)
}

const ms = int64(time.Millisecond)

func bucketCounters(workers int, window time.Duration) []*bucketCounter {
	out := make([]*bucketCounter, workers)
	for i := range out {
		out[i] = &bucketCounter{window: int64(window), counts: make([]uint32, window/harness.BucketLength)}
	}
	return out
}

func TestBuckets(t *testing.T) {
	ws := bucketCounters(2, 70*time.Millisecond)
	for _, x := range []struct {
		worker int
		at     int64
		n      uint64
	}{
		{0, 0, 1}, {0, 20*ms - 1, 2}, {0, 20 * ms, 3}, {0, 59 * ms, 4}, {0, 60 * ms, 5}, {0, 71 * ms, 6}, // the rest is not a full bucket
		{1, 39 * ms, 1 << 31}, {1, 39 * ms, 1 << 31}, // more than a count can hold
	} {
		ws[x.worker].count(x.at, x.n)
	}
	r := &result.Result{Workers: make([]uint64, 2)}
	addBuckets(r, ws)
	if want := []uint32{3, 0, 3, math.MaxUint32, 4, 0}; !slices.Equal(r.BucketCounts, want) {
		t.Errorf("buckets %v, want %v", r.BucketCounts, want)
	}
	// Worker 0 was silent from 20 to 59 ms and worker 1 from 0 to 39 ms: both are 39 ms.
	if want := 39 * time.Millisecond; r.Unserved != want {
		t.Errorf("unserved for %v, want %v", r.Unserved, want)
	}
	ws[1].last = 10 * ms // so it completed nothing in the last 60
	if addBuckets(r, ws); r.Unserved != 60*time.Millisecond {
		t.Errorf("unserved for %v to the end, want 60ms", r.Unserved)
	}
	// Of many workers in a long window the file has the first buckets only, and remains readable.
	r = &result.Result{Lock: result.Lock{Name: "x"}, Workload: harness.Workload{Workers: 1000}}
	addBuckets(r, bucketCounters(1000, 21*time.Second))
	line, err := result.Encode(result.Record{Result: r})
	requireNoError(t, err)
	if _, err = result.Decode(line); err != nil || len(r.BucketCounts) != 1_048_000 {
		t.Errorf("%d counts: %v", len(r.BucketCounts), err)
	}
}

// TestBucketCounterReadsSeldom: a worker reads the clock once in every batches. Until the window
// begins it reads after each batch, so that only the batch in progress counts.
func TestBucketCounterReadsSeldom(t *testing.T) {
	c := newControl(Limit{Window: time.Second}, 1)
	clock := instruments().Clock
	s := &bucketCounter{c: c, clock: clock, every: 3, left: 3, window: int64(time.Second), counts: make([]uint32, 50)}
	s.add(7, false)
	s.add(7, false)
	if s.last != 0 || s.longest != 0 {
		t.Errorf("checked at %d, unserved for %d before the window", s.last, s.longest)
	}
	c.opened = clock.Now()
	c.phase.Store(measure)
	s.add(1, false) // it was in progress
	counted := func() (n uint32) {
		for _, k := range s.counts {
			n += k
		}
		return n
	}
	for i, want := range []uint32{1, 1, 1, 1 + 2 + 4 + 8, 15, 15, 15 + 16 + 32 + 64} {
		if i > 0 {
			s.add(1<<i, true)
		}
		if got := counted(); got != want {
			t.Errorf("after %d batches %d are counted, want %d", i, got, want)
		}
	}
	if got := checkEvery(clock, 0, 64); got != 1 {
		t.Errorf("before the rate is known: every %d batches, want 1", got)
	}
	// 20 ns per acquisition: readings of F+5 ns are half a percent after (F+5)·10.
	want := int64(math.Ceil((clock.Floor + 5) * 10 / 64))
	if got := checkEvery(clock, 1./20, 64); got != want {
		t.Errorf("every %d batches, want %d", got, want)
	}
	new(bucketCounter).add(1, true) // counts nothing
}

// TestBucketsOfOthers: every other loop has buckets too; a single worker has none.
func TestBucketsOfOthers(t *testing.T) {
	const window = 2 * harness.BucketLength
	for name, c := range map[string]struct {
		v    *harness.Variant
		w    harness.Workload
		want int
	}{
		"one worker": {good, harness.Workload{Workers: 1}, 0},
		"readers":    {good, harness.Workload{Workers: 2, Reads: 50}, 4},
		"two locks":  {good, harness.Workload{Workers: 2, Locks: 2}, 4},
		"a server":   {new(shelf).variant(harness.Traits{}), harness.Workload{Workers: 2}, 4},
	} {
		c.w.Window = window
		rig := openRig(t, Job{Lock: c.v, Workload: c.w, At: harness.Endpoint{Kind: harness.KindRedis}})
		r, err := rig.Drive(t.Context(), Limit{Window: window})
		if err != nil || len(r.BucketCounts) != c.want || (r.Unserved > 0) != (c.want > 0) {
			t.Errorf("%s: %v (unserved for %v), want %d counts: %v", name, r.BucketCounts, r.Unserved, c.want, err)
		}
		// The buckets have half of the acquisitions of the planned window at least; some are under way.
		if n := uint64(total(r.BucketCounts)); c.want > 0 && 2*(n+uint64(len(r.Workers)*2*maxBatch))*uint64(r.Elapsed) < r.Ops*uint64(window) {
			t.Errorf("%s: buckets have %d, the window has %d in %v", name, n, r.Ops, r.Elapsed)
		}
	}
	r := &result.Result{Workers: make([]uint64, 2), Elapsed: 45 * time.Millisecond}
	loopBuckets(r, []oracle.Hold{{Worker: 0, Releasing: 9 * ms}, {Worker: 1, Releasing: 10 * ms}, {Worker: 1, Releasing: 29 * ms},
		{Worker: 1, Releasing: 30 * ms}, {Worker: 0, Releasing: 31 * ms}, {Worker: 1, Releasing: 51 * ms}}, 10*ms)
	if want := []uint32{0, 2, 1, 1}; !slices.Equal(r.BucketCounts, want) || r.Unserved != 24*time.Millisecond {
		t.Errorf("buckets %v, unserved for %v; want %v and 24ms", r.BucketCounts, r.Unserved, want)
	}
}
