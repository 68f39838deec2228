package result

import (
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

var (
	nameRE = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	unitRE = regexp.MustCompile(`^[a-z0-9%]+([-/][a-z0-9%]+)*$`)
)

func TestMetrics(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range Metrics {
		switch {
		case !nameRE.MatchString(m.Name):
			t.Errorf("metric %q is not named by lower-case words joined by '-'", m.Name)
		case !unitRE.MatchString(m.Unit):
			t.Errorf("metric %q has unit %q, which is not words joined by '-' or '/'", m.Name, m.Unit)
		case seen["name "+m.Name] || seen["unit "+m.Unit]:
			t.Errorf("metric %q is listed twice, or shares its unit %q", m.Name, m.Unit)
		case m.Doc == "" || m.Paper == "" || m.Read == nil:
			t.Errorf("metric %q has no Doc, no Paper or no function", m.Name)
		case !slices.Contains([]string{Higher, Lower, ""}, m.Better):
			t.Errorf("metric %q has Better %q", m.Name, m.Better)
		}
		seen["name "+m.Name], seen["unit "+m.Unit] = true, true
	}
}

func result(n int64) *Result {
	r := &Result{
		Ops: 100, Elapsed: 2 * time.Second, Workers: []uint64{60, 20, 20}, Handovers: 30,
		Overlap: 0.9, CPU: ClientCost{Time: 5 * time.Microsecond, Voluntary: 50, Involuntary: 20, Allocs: 300},
		Wire: &harness.Counts{Requests: 450, Notifications: 110},
	}
	for v := range n {
		r.Wait = append(r.Wait, Bucket{Value: v + 1, N: 1})
		r.Handover = append(r.Handover, Bucket{Value: 2 * (v + 1), N: 1})
	}
	return r
}

func TestByHand(t *testing.T) {
	log := func(burst, workers int, ids ...uint16) *Result {
		return &Result{Owners: ids, Burst: burst, Workers: make([]uint64, workers)}
	}
	for _, c := range []struct {
		m    *Metric
		r    *Result
		want float64
	}{
		{Time, result(0), 2e7},
		{Throughput, result(0), 50},
		{Handovers, result(0), 15},
		{P50, result(20), 10},
		{P99, result(1000), 990},
		{P999, result(10000), 9990},
		{HandoverTime, result(20), 20},
		{WindowJain, result(0), 100 * 100. * 100 / (3 * (3600 + 400 + 400))}, // 75.76
		{WindowJain, &Result{Workers: []uint64{7, 7, 7, 7}}, 100},
		{WindowJain, &Result{Workers: []uint64{0, 0, 9, 0}}, 25},
		{BusyHalf, &Result{Workers: []uint64{1, 4, 3, 2}}, 70},
		{BusyHalf, &Result{Workers: []uint64{5, 5, 5}}, 50},
		{BusyHalf, result(0), 70}, // 60 + half of 20
		{Spread, &Result{Workers: []uint64{2, 4, 4, 4, 5, 5, 7, 9}}, 40},
		{WindowJain, &Result{Workers: []uint64{2, 4, 4, 4, 5, 5, 7, 9}}, 100 / (1 + 0.4*0.4)}, // of that spread
		{MinMax, result(0), 100. / 3},
		{CPU, result(0), 50},
		{Switches, result(0), 0.5},
		{Preemptions, result(0), 0.2},
		{Allocs, result(0), 3},
		{Requests, result(0), 4.5},
		{Notifications, result(0), 1.1},
		{Overlap, result(0), 90},

		{StreakP50, log(8, 3, 0, 1, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0), 4},
		{StreakP99, log(8, 3, 0, 1, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0), 6},
		{StreakP50, log(4, 2, 0, 1, 0, 1), 1},
		{StreakP99, log(2, 2, 1, 1, 1, 1), 2},

		// Windows of three: {0,1,2} {0,0,1} | {2,2,2} {0,1,0}, two left over each.
		{LWSS, log(8, 3, 0, 1, 2, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 0, 0, 0), 100 * (3 + 2 + 1 + 2) / 12.},
		{LWSS, log(6, 3, 0, 1, 2, 0, 1, 2), 100}, {LWSS, log(8, 4, 3, 3, 3, 3, 3, 3, 3, 3), 25},
		// Rotation: two others between two acquisitions.
		{Reacquire, log(6, 3, 0, 1, 2, 0, 1, 2), 2},
		{Reacquire, log(5, 2, 0, 0, 0, 1, 0), 0},
		{Reacquire, log(4, 2, 0, 1, 0, 0), 0.5},
		// Stretches without 0: 1 and 3, without 1: 1 1 1, without 2: 4 and 1. Of
		// the 12 in all, 5 are in stretches of 1, 8 in those up to 3.
		{GapP50, log(6, 3, 0, 1, 0, 1, 2, 1), 3},
		{GapP99, log(6, 3, 0, 1, 0, 1, 2, 1), 4},
		{GapP50, log(6, 3, 0, 1, 2, 0, 1, 2), 2},

		// Rotation: nobody is passed twice.
		{Bypass, log(6, 3, 0, 1, 2, 0, 1, 2), 1},
		{Bypass, log(6, 3, 0, 1, 2, 2, 1, 0), 2}, // 2 passes 0 and 1 twice
		// Between two acquisitions of 2 come 0 0 1 0 1: 0 three times.
		{Bypass, log(7, 3, 2, 0, 0, 1, 0, 1, 2), 3},
		// Worker 1 never comes: it was passed at least five times.
		{Bypass, log(5, 2, 0, 0, 0, 0, 0), 5},
		// A stretch cut by the end of a burst counts, and is not joined across it.
		{Bypass, log(4, 2, 1, 0, 0, 0, 0, 1, 0, 1), 3},
		{Bypass, log(4, 2, 0, 1, 0, 0, 0, 0, 1, 0), 2},

		{BypassP99, log(6, 2, 0, 1, 0, 0, 0, 0), 4},
		{BypassP99, log(4, 2, 0, 1, 0, 1), 1},
		{BypassP99, rotateOnce(log(400, 2), 300, 19), 1},
		{Bypass, rotateOnce(log(400, 2), 300, 19), 19},
		{BypassP99, log(2, 2, 0, 0), 2},

		{HandoverMean, result(20), 21}, // 2, 4 … 40
		// 30 of 21 ns in 2 s, in 2 us, and in less than their total.
		{HandoverShare, result(20), 0.0000315},
		{HandoverShare, setElapsed(result(20), 2*time.Microsecond), 31.5},
		{HandoverShare, setElapsed(result(20), 620*time.Nanosecond), 100},
		{HandoverTransfers, &Result{Handover: result(20).Handover, Transfer: 8}, 2.5},
		{RoundTrip, &Result{RoundTrip: 8}, 8},
		{HandoverRoundTrips, &Result{Handover: result(20).Handover, RoundTrip: 8}, 2.5},
		{P50RoundTrips, &Result{Wait: result(20).Handover, RoundTrip: 8}, 2.5},
		// 5 of 20 acquisitions in 20 us changed hands, or all if there is no other.
		{PeriodRoundTrips, handedOver(2, 5), 2}, {PeriodRoundTrips, handedOver(1, 0), 0.5},
		{PeriodRoundTrips, handedOver(2, 0), 10}, // at least
		{Hold, &Result{Hold: Spans{N: 20, Sum: 2400}}, 120},
		// Two workers and 100 acquisitions in 20 us: one takes 400 ns.
		{HoldShare, heldResult(2, 100, 0), 25},
		{WaitShare, heldResult(2, 100, 0), 75},
		{HoldShare, heldResult(2, 100, 240), 25},
		{WaitShare, heldResult(2, 100, 240), 15},
		{WaitShare, heldResult(2, 100, 310), 0}, // 102.5 % in all
		// Readers and the holders of other locks hold at the same time.
		{Hold, setPermits(heldResult(3, 220, 0), 3), 100},
		{Hold, setReads(heldResult(3, 220, 0), 50, 0), 100}, {Hold, setReads(heldResult(3, 220, 0), 0, 2), 100},

		{GapP99, log(4, 2, 0, 0, 0, 0), 4},
		{GapP99, log(6, 3, 0, 1, 2, 0, 1, 2), 2},
	} {
		got, ok := c.m.Of(c.r)
		if !ok || math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s of %v %v: got %v, %v; want %v", c.m.Name, c.r.Workers, c.r.Owners, got, ok, c.want)
		}
	}
}

// rotateOnce returns r with a rotation of two, except a run of worker 0 from acquisition at.
func rotateOnce(r *Result, at, run int) *Result {
	for i := range r.Burst {
		owner := uint16(i % 2)
		if i >= at && i < at+run {
			owner = 0
		}
		r.Owners = append(r.Owners, owner)
	}
	return r
}

func heldResult(workers int, ops uint64, think time.Duration) *Result {
	r := &Result{Ops: ops, Elapsed: 20 * time.Microsecond, Workers: make([]uint64, workers), ClockFloor: 10,
		Hold: Spans{N: 20, Sum: 2000}}
	if think > 0 {
		r.Workload.Think.Mean = think
		r.Think = Spans{N: 20, Sum: 20 * think}
	}
	return r
}

func handedOver(workers int, handovers uint64) *Result {
	return &Result{Ops: 20, Handovers: handovers, Elapsed: 20 * time.Microsecond, Workers: make([]uint64, workers), RoundTrip: 2000}
}

func setPermits(r *Result, n int) *Result {
	r.Lock.Traits.Permits = n
	return r
}

func setElapsed(r *Result, elapsed time.Duration) *Result {
	r.Elapsed = elapsed
	return r
}

func setReads(r *Result, reads, locks int) *Result {
	r.Workload.Reads, r.Workload.Locks = reads, locks
	return r
}

func TestTooLittle(t *testing.T) {
	wire := &harness.Counts{Requests: 1}
	for _, c := range []struct {
		m *Metric
		r *Result
	}{
		{P50, result(19)}, {P99, result(999)}, {P999, result(9999)}, {HandoverTime, result(19)},
		{Handovers, &Result{Elapsed: 1, Workers: []uint64{5}}},
		{WindowJain, &Result{Workers: []uint64{5}}},
		{WindowJain, &Result{Workers: []uint64{0, 0}}},
		{MinMax, &Result{Workers: []uint64{0, 0}}},
		{Requests, &Result{Ops: 9}},
		{Requests, &Result{Wire: wire}},
		{CPU, &Result{Ops: 9}},
		{LWSS, &Result{Owners: []uint16{0, 1}, Burst: 2, Workers: make([]uint64, 3)}},
		{Reacquire, &Result{Owners: []uint16{0, 1}, Burst: 2, Workers: make([]uint64, 2)}},
		{Bypass, &Result{Owners: []uint16{0, 1}, Burst: 2, Workers: make([]uint64, 1)}}, // no other worker to be passed by
		{Bypass, &Result{Burst: 2, Workers: make([]uint64, 2)}},
		{Bypass, &Result{Owners: []uint16{0, 9}, Burst: 2, Workers: make([]uint64, 2)}},
		{HandoverMean, result(10)},
		{HandoverShare, result(10)}, {HandoverShare, &Result{Handover: result(20).Handover}},
		{HandoverShare, setElapsed(result(20), 500*time.Nanosecond)}, // the samples do not represent the window
		{HandoverTransfers, result(20)},                              // no transfer was measured
		{HandoverTransfers, &Result{Handover: result(19).Handover, Transfer: 8}},
		{HandoverTransfers, &Result{Handover: result(20).Handover, Transfer: math.NaN()}},
		{HandoverRoundTrips, &Result{Handover: result(20).Handover}}, // no round trip was measured
		{HandoverRoundTrips, &Result{Handover: result(20).Handover, RoundTrip: math.NaN()}},
		{HandoverRoundTrips, &Result{Handover: result(19).Handover, RoundTrip: 8}},
		{HandoverRoundTrips, &Result{Handover: result(20).Handover, RoundTrip: 0.5}},
		{P99RoundTrips, &Result{Wait: result(20).Handover, RoundTrip: 8}},
		{RoundTrip, &Result{RoundTrip: -1}}, {RoundTrip, &Result{RoundTrip: 0.5}}, {RoundTrip, &Result{RoundTrip: math.Inf(1)}}, {RoundTrip, &Result{RoundTrip: math.NaN()}},
		{PeriodRoundTrips, setElapsed(handedOver(2, 5), 0)},
		{PeriodRoundTrips, setPermits(handedOver(2, 5), 2)}, {PeriodRoundTrips, setReads(handedOver(2, 5), 50, 0)}, {PeriodRoundTrips, setReads(handedOver(2, 5), 0, 2)},
		{Hold, &Result{Hold: Spans{N: 10, Sum: 1200}}},
		{WaitShare, heldResult(2, 100, 330)}, // 107.5 % in all: the samples do not represent the window
		{HoldShare, heldResult(1, 220, 0)},   // holds longer than the window
		{Hold, heldResult(3, 220, 0)}, {HoldShare, heldResult(3, 220, 0)},
		{HandoverMean, &Result{Handover: result(20).Handover, Handovers: 100, Elapsed: 1900}}, // 2100 ns
		{HoldShare, heldResult(2, 201, 0)},   // an acquisition of 199 ns: a reading is more than 5 points
		{WaitShare, heldResult(2, 101, 200)}, // three readings in one of 396 ns
		{WaitShare, &Result{Ops: 5, Elapsed: 1, Workers: make([]uint64, 2), Hold: Spans{N: 10, Sum: 1}}},
		{HoldShare, &Result{Hold: Spans{N: 20, Sum: 1}, Elapsed: 1, Workers: make([]uint64, 2)}},
		{GapP99, &Result{Owners: []uint16{0, 9}, Burst: 2, Workers: make([]uint64, 2)}},    // no worker 9
		{StreakP50, &Result{Owners: []uint16{0, 1}, Burst: 4, Workers: make([]uint64, 2)}}, // no whole burst
	} {
		if got, ok := c.m.Of(c.r); ok {
			t.Errorf("%s of %+v: got %v, want none", c.m.Name, *c.r, got)
		}
	}
	for _, m := range Metrics {
		if v, ok := m.Of(new(Result)); ok {
			t.Errorf("%s of an empty result: got %v, want none", m.Name, v)
		}
	}
}
