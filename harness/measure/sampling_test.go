package measure

import (
	"math"
	"slices"
	"testing"
	"time"

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
			uniform(t, o.name+", handovers", handovers, every, uses/len(o.workers))
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
			t.Errorf("order %v: %d handovers at place %d, from a worker to itself", order, n, i)
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
