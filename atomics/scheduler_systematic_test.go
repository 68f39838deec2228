//go:build systematic

package atomics

import (
	"slices"
	"testing"

	"locklab/internal/require"
)

func atOnce(a Access) uint64 {
	before := a.Word.Get()
	a.Word.Set(a.After(before))
	return before
}

type step struct {
	do       func() any
	want     any
	after    uint64
	op       Op
	old, new uint64
}

type schedulable[T uint32 | uint64] interface {
	pollable[T]
	CompareAndSwap(old, new T) bool
	Swap(T) T
	Add(T) T
}

// steps uses a word in each way. The value big may take all bits of the word.
func steps[T uint32 | uint64](w schedulable[T], big T) []step {
	return []step{
		{func() any { return w.Load() }, T(0), 0, OpLoad, 0, 0},
		{func() any { w.Store(3); return nil }, nil, 3, OpStore, 0, 3},
		{func() any { w.StoreRelease(big); return nil }, nil, uint64(big), OpStoreRelease, 0, uint64(big)},
		{func() any { return w.CompareAndSwap(9, 1) }, false, uint64(big), OpCompareAndSwap, 9, 1},
		{func() any { return w.CompareAndSwap(big, 5) }, true, 5, OpCompareAndSwap, uint64(big), 5},
		{func() any { return w.Swap(6) }, T(5), 6, OpSwap, 0, 6},
		{func() any { return w.Add(^T(0)) }, T(5), 5, OpAdd, 0, uint64(^T(0))},
	}
}

// TestEveryOperationIsTheSchedulers: each operation calls the scheduler once, with its own
// name, word and operands, and returns its answer.
func TestEveryOperationIsTheSchedulers(t *testing.T) {
	for _, scheduled := range []bool{true, false} {
		var w32 Uint32
		var w64 Uint64
		for _, word := range []struct {
			name  string
			word  Word
			steps []step
		}{
			{"Uint32", word32(&w32.v), steps(&w32, uint32(4))},
			{"Uint64", word64(&w64.v), steps(&w64, uint64(1<<40))},
		} {
			var seen, want []Access
			restore := func() {}
			if scheduled {
				restore = SetScheduler(func(a Access) uint64 {
					seen = append(seen, a)
					return atOnce(a)
				})
			}
			for _, s := range word.steps {
				seen, want = nil, nil
				if scheduled {
					want = []Access{{Op: s.op, Word: word.word, Old: s.old, New: s.new}}
				}
				if got := s.do(); got != s.want || word.word.Get() != s.after {
					t.Errorf("scheduled=%t %s.%v returns %v, want %v, and leaves %d, want %d",
						scheduled, word.name, s.op, got, s.want, word.word.Get(), s.after)
				}
				if !slices.Equal(seen, want) {
					t.Errorf("scheduled=%t %s.%v: scheduler saw %v, want %v", scheduled, word.name, s.op, seen, want)
				}
			}
			restore()
		}
	}
}

// TestSchedulerAnswers: an operation uses the scheduler's answer, not the word.
func TestSchedulerAnswers(t *testing.T) {
	var w Uint32
	defer SetScheduler(func(Access) uint64 { return 7 })()
	require.Equal(t, "Load", w.Load(), 7)
	require.Equal(t, "Swap", w.Swap(1), 7)
	require.Equal(t, "Add", w.Add(2), 9)
	if !w.CompareAndSwap(7, 1) || w.CompareAndSwap(0, 1) {
		t.Error("CompareAndSwap does not go by the scheduler's 7")
	}
	w.Store(3)
	require.Equal(t, "the word behind the scheduler's back", w.v.Load(), 0)
}

func TestWordsOfDifferentSizes(t *testing.T) {
	var w32 Uint32
	var w64 Uint64
	for _, test := range []struct {
		w    Word
		want uint64
	}{{word32(&w32.v), 1}, {word64(&w64.v), 1<<32 + 1}, {Word{}, 0}} {
		if test.w.Set(1<<32 + 1); test.w.Get() != test.want {
			t.Errorf("word is %d, want %d", test.w.Get(), test.want)
		}
	}
	over := Access{Op: OpAdd, Word: word32(&w32.v), New: 1}
	require.Equal(t, "a Uint32 that overflows", over.After(1<<32-1), 0)
}

func TestSpinHintCallsTheScheduler(t *testing.T) {
	var seen []Access
	defer SetScheduler(func(a Access) uint64 { seen = append(seen, a); return 0 })()
	for n, want := range map[int][]Access{-1: nil, 0: nil, 1: {{Op: OpSpin, New: 1}}, 1000: {{Op: OpSpin, New: 64}}} {
		seen = nil
		if SpinHint(n); !slices.Equal(seen, want) {
			t.Errorf("SpinHint(%d): scheduler saw %v, want %v", n, seen, want)
		}
	}
}

// TestParkerUnderAScheduler wakes an owner in both ways; the scheduler must see the sleep.
func TestParkerUnderAScheduler(t *testing.T) {
	p := NewParker()
	var ops []Op
	defer SetScheduler(func(a Access) uint64 {
		ops = append(ops, a.Op)
		if a.Op == OpAcquire && a.Word.Get() == 0 {
			p.Unpark() // another goroutine's part
		}
		return atOnce(a)
	})()

	p.Unpark()
	p.Park()
	if want := []Op{OpSwap, OpAdd}; !slices.Equal(ops, want) {
		t.Errorf("Unpark and Park did %v, want %v", ops, want)
	}
	ops = nil
	p.Park()
	if want := []Op{OpAdd, OpAcquire, OpSwap, OpRelease, OpSwap}; !slices.Equal(ops, want) {
		t.Errorf("Park that sleeps and Unpark did %v, want %v", ops, want)
	}
}

func TestSetSchedulerNests(t *testing.T) {
	var w Uint32
	var calls [2]int
	count := func(i int) Scheduler { return func(a Access) uint64 { calls[i]++; return atOnce(a) } }

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
	require.Equal(t, "the calls of both schedulers", calls, [2]int{2, 2})
}

func TestPollWhileIsTheSchedulers(t *testing.T) {
	for _, tc := range []struct {
		changes, n int // number of operations after which the word changes; polls requested
		found      int
		ops        []Op
	}{
		{0, 3, 0, []Op{OpLoad}},
		{1, 3, 1, []Op{OpLoad, OpSpin, OpLoad}},
		{4, 3, 2, []Op{OpLoad, OpSpin, OpLoad, OpSpin, OpLoad}},
		{9, 3, 3, []Op{OpLoad, OpSpin, OpLoad, OpSpin, OpLoad, OpSpin}},
		{9, 0, 1, []Op{OpLoad, OpSpin}},
		{999, 65, 64, slices.Repeat([]Op{OpLoad, OpSpin}, 64)},
	} {
		var w32 Uint32
		var w64 Uint64
		for word, poll := range map[Word]func() (uint64, int){
			word32(&w32.v): func() (uint64, int) { last, found := w32.PollWhile(0, tc.n); return uint64(last), found },
			word64(&w64.v): func() (uint64, int) { return w64.PollWhile(0, tc.n) },
		} {
			var ops []Op
			if tc.changes == 0 {
				word.Set(7)
			}
			restore := SetScheduler(func(a Access) uint64 {
				before := atOnce(a)
				if ops = append(ops, a.Op); len(ops) == tc.changes {
					word.Set(7)
				}
				return before
			})
			last, found := poll()
			restore()
			if changed := tc.found < len(ops)/2+len(ops)%2; (last == 7) != changed || found != tc.found || !slices.Equal(ops, tc.ops) {
				t.Errorf("%+v: returns %d, %d after %v", tc, last, found, ops)
			}
		}
	}
}
