package measure

import (
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// two is a machine of two caches with two processors each, in one memory.
var two = machine.Topology{{CPU: 4, Cache: 4}, {CPU: 6, Cache: 4}, {CPU: 0, Cache: 0}, {CPU: 2, Cache: 0}}

func TestNodes(t *testing.T) {
	const untold = -1
	numa := machine.Topology{{CPU: 0, Cache: untold, Node: 1}, {CPU: 1, Cache: untold, Node: 0}}
	mute := machine.Topology{{CPU: 0, Cache: untold, Node: untold}, {CPU: 1, Cache: untold, Node: untold}}
	half := machine.Topology{{CPU: 0, Cache: 0, Node: 3}, {CPU: 1, Cache: untold, Node: 5}}
	for _, c := range []struct {
		name    string
		t       machine.Topology
		workers int
		want    []int
	}{
		{"two caches", two, 4, []int{0, 0, 1, 1}},
		{"more workers than processors", two, 6, []int{0, 0, 1, 1, 0, 0}},
		{"all in one cache", two, 2, nil},
		{"by memory", numa, 3, []int{0, 1, 0}},
		{"some caches are not told", half, 2, []int{0, 1}},
		{"nothing is told", mute, 2, nil},
		{"of one nothing is told", append(mute[:1:1], numa...), 3, nil},
		{"one processor", two[:1], 3, nil},
	} {
		if got := nodes(c.t, c.workers); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSetup(t *testing.T) {
	in := *instruments()
	in.Topology = two
	for pin, want := range map[harness.Pin][]int{harness.PinCPU: {0, 0, 1}, harness.PinThread: nil, harness.PinNone: nil} {
		var got harness.Setup
		lock := &harness.Variant{Name: "asks", Traits: harness.Traits{FollowsWait: true}, Local: func(s harness.Setup) harness.Local { got = s; return good.Local(s) }}
		rig, err := Open(t.Context(), &in, Job{Lock: lock, Workload: harness.Workload{Workers: 3, Pin: pin, Wait: harness.WaitYield, Window: 1}})
		requireNoError(t, err)
		if got.Workers != 3 || got.Wait != harness.WaitYield || got.Pin != pin || !slices.Equal(got.Nodes, want) {
			t.Errorf("pin %v: the lock was told %+v, want nodes %v", pin, got, want)
		}
		requireNoError(t, rig.Close())
	}
}

// TestInstruments: a process uses its parent's calibration.
func TestInstruments(t *testing.T) {
	told := calibration{Clock: machine.Clock{Period: 1, Floor: 123, Step: 4}, Topology: two}
	if in := told.instruments(); in.Clock.Floor != 123 || in.Clock.Step != 4 || !slices.Equal(in.Topology, two) || in.Work.Iterations(time.Second) == 0 {
		t.Errorf("told %+v, it has %+v", told, in)
	}
}

func TestTune(t *testing.T) {
	clock := machine.Clock{Period: 1, Floor: 10, Step: 1}
	every := func(workers int, think time.Duration, period float64) int {
		r := &Rig{in: &Instruments{Clock: clock}, rate: 1 / period, job: Job{Lock: good, Workload: harness.Workload{Workers: workers}}}
		r.job.Workload.Think.Mean = think
		return r.tune(Limit{Window: time.Second}).sampleEvery
	}
	for _, c := range []struct {
		workers int
		think   time.Duration
		period  float64 // ns from one acquisition to the next
		want    int
	}{
		{1, 0, 100, 16},      // 75 of 100 ns: a 15th
		{8, 0, 100, 16},      // a hold is 45 ns longer, for all waiters: a 10th
		{64, 0, 1000, 1},     // 4.5 % of the time if every acquisition is timed
		{1, 0, 800, 2},       // 9.4 %
		{1, 600, 700, 4},     // with think time there are two more readings: 13.6 %
		{2, 0, 1e9, 1},       // milliseconds make no difference
		{1, 0, 0.001, 1024},  // no lock is that fast
		{64, 0, 10, 128},     // 45 ns in 10, and 30 in 640
		{64, 9000, 100, 16},  // the acquisition is long, the lock is not
		{1, 9000, 10_000, 1}, // 1 %
	} {
		if got := every(c.workers, c.think, c.period); got != c.want {
			t.Errorf("%d workers, think %v, an acquisition in %v ns: one acquisition in %d, want %d", c.workers, c.think, c.period, got, c.want)
		}
	}
}

func TestOverhead(t *testing.T) {
	in := instruments()
	for _, x := range []struct {
		timed, recorded bool
		holds           int64 // timed in a burst
	}{{false, false, 0}, {false, true, 0}, {true, true, result.BurstHolds}} {
		b := in.bench(x.timed)
		for range 3 {
			if ns := in.perAcquisition(func() { b.burst(x.recorded) }); !(ns > 0) || ns > 1e6 {
				t.Errorf("%+v: an acquisition takes %v ns", x, ns)
			}
		}
		if b.s.n != 3*result.BurstHolds || b.s.base != 2*result.BurstHolds || b.s.logging != x.recorded || b.w.t.hold.N != 3*x.holds || b.w.t.wait.Snapshot().Count() != 3*x.holds {
			t.Errorf("%+v: %d acquisitions, logging %v, %d holds timed", x, b.s.n, b.s.logging, b.w.t.hold.N)
		}
	}
	o := in.Overhead()
	t.Logf("%+v", o)
	for _, ns := range []float64{o.Loop, o.Log, o.Timing} {
		if !(ns >= 0) || math.IsInf(ns, 1) {
			t.Errorf("%+v", o)
		}
	}
	// A timed acquisition reads the clock three times.
	if o.Loop == 0 || o.Timing < in.Clock.Floor {
		t.Errorf("%+v with a clock that takes %v ns to read", o, in.Clock.Floor)
	}
}

// TestWindowAllocatesNothing: allocations of the loop would count as the lock's.
func TestWindowAllocatesNothing(t *testing.T) {
	b := instruments().bench(true)
	think := harness.Span{Mean: 10, Exp: true}
	b.w.hold, b.w.think = newSpinner(instruments().Work, think, machine.NewRandom(1)), newSpinner(instruments().Work, think, machine.NewRandom(2))
	tallies := []*tally{b.w.t}
	s, heap, c := newSnapshot(1), newHeapCounter(), newControl(Limit{Window: 1}, 1)
	if n := testing.AllocsPerRun(100, func() {
		b.w.batch(b.s, noLock{}, 64, true)
		b.w.t.publish(64, 0)
		s.take(c, tallies)
		heap.objects()
	}); n != 0 {
		t.Errorf("%v allocations a batch, want 0", n)
	}
}

// TestPadding: fields written at every acquisition or batch share no cache line.
func TestPadding(t *testing.T) {
	var s criticalSection
	var y tally
	var c control
	var d sharedData
	for _, x := range []struct {
		what string
		from uintptr // end of the first
		to   uintptr // start of the second
	}{
		{"section: start, counter", 0, unsafe.Offsetof(s.n)},
		{"section: counter, log", unsafe.Offsetof(s.stamp) + unsafe.Sizeof(s.stamp), unsafe.Offsetof(s.logging)},
		{"section: log, end", unsafe.Offsetof(s.log) + unsafe.Sizeof(s.log), unsafe.Sizeof(s)},
		{"tally: start, counts", 0, unsafe.Offsetof(y.own)},
		{"tally: counts, samples", unsafe.Offsetof(y.left) + unsafe.Sizeof(y.left), unsafe.Offsetof(y.begin)},
		{"tally: samples, end", unsafe.Offsetof(y.handover) + unsafe.Sizeof(y.handover), unsafe.Sizeof(y)},
		{"control: start, phase", unsafe.Offsetof(c.entered) + unsafe.Sizeof(c.entered), unsafe.Offsetof(c.phase)},
		{"control: phase, end", unsafe.Offsetof(c.budget) + unsafe.Sizeof(c.budget), unsafe.Sizeof(c)},
		{"data: start, counter", 0, unsafe.Offsetof(d.left)},
		{"data: counter, end", unsafe.Offsetof(d.last) + unsafe.Sizeof(d.last), unsafe.Sizeof(d)},
	} {
		if x.to-x.from < atomics.CacheLine {
			t.Errorf("%s: %d bytes, want %d", x.what, x.to-x.from, atomics.CacheLine)
		}
	}
}
