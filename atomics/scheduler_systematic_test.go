//go:build systematic

package atomics

import (
	"slices"
	"testing"
	"unsafe"
)

// An event is one call of a Scheduler, with the value of the word at the time.
type event struct {
	op    Op
	addr  unsafe.Pointer
	value uint64
}

// A step is one operation and what it must do to its word.
type step struct {
	do    func() any
	want  any // the result
	after uint64
	op    Op
}

func steps32(w *Uint32) []step {
	return []step{
		{func() any { return w.Load() }, uint32(0), 0, OpLoad},
		{func() any { w.Store(3); return nil }, nil, 3, OpStore},
		{func() any { w.StoreRelease(4); return nil }, nil, 4, OpStoreRelease},
		{func() any { return w.CompareAndSwap(9, 1) }, false, 4, OpCompareAndSwap},
		{func() any { return w.CompareAndSwap(4, 5) }, true, 5, OpCompareAndSwap},
		{func() any { return w.Swap(6) }, uint32(5), 6, OpSwap},
		{func() any { return w.Add(^uint32(0)) }, uint32(5), 5, OpAdd},
	}
}

func steps64(w *Uint64) []step {
	return []step{
		{func() any { return w.Load() }, uint64(0), 0, OpLoad},
		{func() any { w.Store(3); return nil }, nil, 3, OpStore},
		{func() any { w.StoreRelease(1 << 40); return nil }, nil, 1 << 40, OpStoreRelease},
		{func() any { return w.CompareAndSwap(0, 1) }, false, 1 << 40, OpCompareAndSwap},
		{func() any { return w.CompareAndSwap(1<<40, 5) }, true, 5, OpCompareAndSwap},
		{func() any { return w.Swap(6) }, uint64(5), 6, OpSwap},
		{func() any { return w.Add(^uint64(0)) }, uint64(5), 5, OpAdd},
	}
}

// TestEveryOperationCallsTheScheduler checks that each operation calls it
// exactly once, with its own name and word, before it does anything.
func TestEveryOperationCallsTheScheduler(t *testing.T) {
	var w32 Uint32
	var w64 Uint64
	for _, word := range []struct {
		name  string
		addr  unsafe.Pointer
		value func() uint64
		steps []step
	}{
		{"Uint32", unsafe.Pointer(&w32), func() uint64 { return uint64(w32.v.Load()) }, steps32(&w32)},
		{"Uint64", unsafe.Pointer(&w64), func() uint64 { return w64.v.Load() }, steps64(&w64)},
	} {
		var events []event
		restore := SetScheduler(func(op Op, addr unsafe.Pointer) {
			events = append(events, event{op, addr, word.value()})
		})
		for _, s := range word.steps {
			events = nil
			want := event{s.op, word.addr, word.value()}
			got := s.do()
			if got != s.want || word.value() != s.after {
				t.Errorf("%s.%v returns %v, want %v, and leaves %d, want %d", word.name, s.op, got, s.want, word.value(), s.after)
			}
			if len(events) != 1 || events[0] != want {
				t.Errorf("%s.%v: scheduler saw %v, want once %v", word.name, s.op, events, want)
			}
		}
		restore()
	}
}

func TestSpinHintCallsTheScheduler(t *testing.T) {
	var events []event
	defer SetScheduler(func(op Op, addr unsafe.Pointer) { events = append(events, event{op: op, addr: addr}) })()
	for n, want := range map[int][]event{-1: nil, 0: nil, 1: {{op: OpSpin}}, 1000: {{op: OpSpin}}} {
		events = nil
		if SpinHint(n); !slices.Equal(events, want) {
			t.Errorf("SpinHint(%d): scheduler saw %v, want %v", n, events, want)
		}
	}
}

func TestSetSchedulerNests(t *testing.T) {
	var w Uint32
	var calls [2]int
	count := func(i int) Scheduler { return func(Op, unsafe.Pointer) { calls[i]++ } }

	w.Load()
	outer := SetScheduler(count(0))
	w.Load()
	inner := SetScheduler(count(1))
	w.Load()
	none := SetScheduler(nil)
	w.Load()
	none()
	w.Load()
	inner()
	w.Load()
	outer()
	w.Load()
	if want := [2]int{2, 2}; calls != want {
		t.Errorf("the schedulers were called %v times, want %v", calls, want)
	}
}

// TestSchedulerDecidesTheOrder loses an update on purpose: it holds one
// goroutine between its Load and its Store until another has done both.
func TestSchedulerDecidesTheOrder(t *testing.T) {
	var w Uint32
	increment := func() { w.Store(w.Load() + 1) }
	held, letGo := make(chan struct{}), make(chan struct{})
	first := true
	defer SetScheduler(func(op Op, _ unsafe.Pointer) {
		if op == OpStore && first {
			first = false
			close(held)
			<-letGo
		}
	})()

	done := make(chan struct{})
	go func() {
		increment()
		close(done)
	}()
	<-held
	increment()
	close(letGo)
	<-done
	if got := w.Load(); got != 1 {
		t.Errorf("two increments give %d, want 1: one was to be lost", got)
	}
}

func TestOpString(t *testing.T) {
	for op, want := range map[Op]string{OpLoad: "Load", OpStoreRelease: "StoreRelease", OpSpin: "SpinHint", 99: "Op(99)"} {
		if got := op.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
