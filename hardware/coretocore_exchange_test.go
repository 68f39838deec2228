package hardware

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
)

// TestHandOver: both threads finish all exchanges, and the word has its initial value.
func TestHandOver(t *testing.T) {
	const hops = 1000
	for _, h := range []handOver{casSpin, loadThenCAS} {
		var w atomics.Uint64
		var led atomic.Bool
		done := make(chan bool)
		go func() {
			h.hand(&w, 1, hops)
			done <- led.Load()
		}()
		h.hand(&w, 0, hops-1)
		led.Store(true)
		h.hand(&w, 0, 1)
		if !<-done {
			t.Errorf("%s: the follower was done before its last exchange", h.name)
		}
		if w.Load() != 0 {
			t.Errorf("%s: the word is %d at the end", h.name, w.Load())
		}
	}
}

func startRig(t testing.TB, cpus [2]int) *hopRig {
	t.Helper()
	rig, err := newHopRig(cpus[:]...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rig.close)
	return rig
}

func TestExchange(t *testing.T) {
	cpus := twoHopCPUs(t)
	rig := startRig(t, cpus)
	for _, h := range []handOver{casSpin, loadThenCAS} {
		e := rig.exchange(h, cpus, hopSpan)
		n := 0
		for try := 0; try < 1000 && n < 40; try++ { // a busy machine disturbs most blocks
			ns := e.block(10)
			if len(ns) > 10 || slices.ContainsFunc(ns, notATime) {
				t.Fatalf("%s: asked for 10 samples, got %v", h.name, ns)
			}
			n += len(ns)
		}
		if n < 40 {
			t.Errorf("%s: %d samples in 1000 blocks of 10", h.name, n)
		}
		if e.next < firstHops || e.next > mostHops {
			t.Errorf("%s: %d hops", h.name, e.next)
		}
	}
}

func TestLinesAreAlone(t *testing.T) {
	rig := startRig(t, [2]int{unbound, unbound})
	seen := make(map[*atomics.Uint64]bool)
	for range 3 * hopArena / 100 {
		lines := rig.fresh(1, 100)
		for i := range lines {
			seen[&lines[i].w] = true
			lines[i].w.Store(1)
		}
	}
	if len(seen) != 3*hopArena/100*100 {
		t.Errorf("%d lines of %d are fresh", len(seen), 3*hopArena/100*100)
	}
	if size := int(unsafe.Sizeof(hopLine{})); size < atomics.CacheLine+8 {
		t.Errorf("a line is %d bytes", size)
	}
}

func TestAdaptHops(t *testing.T) {
	for _, test := range []struct {
		hops int
		took time.Duration
		want int
	}{
		{100, 10 * time.Microsecond, 2500},
		{1000, 250 * time.Microsecond, 1000},
		{1000, 500 * time.Microsecond, 500},
		{1000, 50 * time.Millisecond, 500}, // interrupted
		{firstHops, time.Second, firstHops},
		{1000, 0, mostHops},
	} {
		if got := adaptHops(test.hops, test.took, 250*time.Microsecond); got != test.want {
			t.Errorf("after %d in %v come %d, want %d", test.hops, test.took, got, test.want)
		}
	}
}
