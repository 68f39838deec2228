package atomics

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"locklab/internal/require"
)

// words returns the methods of Uint32 and Uint64 as a Primitive, so that check applies to them.
func words(store32 func(*Uint32, uint32), store64 func(*Uint64, uint64)) *Primitive {
	w32 := func(p *uint32) *Uint32 { return (*Uint32)(unsafe.Pointer(p)) }
	w64 := func(p *uint64) *Uint64 { return (*Uint64)(unsafe.Pointer(p)) }
	return &Primitive{
		Word32: Operations[uint32]{
			CompareAndSwap: func(p *uint32, old, new uint32) bool { return w32(p).CompareAndSwap(old, new) },
			Swap:           func(p *uint32, new uint32) uint32 { return w32(p).Swap(new) },
			Add:            func(p *uint32, delta uint32) uint32 { return w32(p).Add(delta) },
			LoadAcquire:    func(p *uint32) uint32 { return w32(p).Load() },
			StoreRelease:   func(p *uint32, v uint32) { store32(w32(p), v) },
		},
		Word64: Operations[uint64]{
			CompareAndSwap: func(p *uint64, old, new uint64) bool { return w64(p).CompareAndSwap(old, new) },
			Swap:           func(p *uint64, new uint64) uint64 { return w64(p).Swap(new) },
			Add:            func(p *uint64, delta uint64) uint64 { return w64(p).Add(delta) },
			LoadAcquire:    func(p *uint64) uint64 { return w64(p).Load() },
			StoreRelease:   func(p *uint64, v uint64) { store64(w64(p), v) },
		},
	}
}

// TestWords compares the words with sync/atomic; the race detector follows their locks.
func TestWords(t *testing.T) {
	for name, p := range map[string]*Primitive{
		"Store":        words((*Uint32).Store, (*Uint64).Store),
		"StoreRelease": words((*Uint32).StoreRelease, (*Uint64).StoreRelease),
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkPrimitive(p, true); err != nil {
				t.Error(err)
			}
		})
	}
}

// compareAndSwap is the compiled method that locks call. TestToolchainInstructions reads
// it.
//
//go:noinline
func compareAndSwap(x *Uint32, old, new uint32) bool { return x.CompareAndSwap(old, new) }

func TestLayout(t *testing.T) {
	var behind struct {
		_   uint32
		w64 Uint64
		_   Uint32
		pad CacheLinePad
	}
	for _, f := range []struct {
		what      string
		got, want uintptr
	}{
		{"size of Uint32", unsafe.Sizeof(Uint32{}), 4},
		{"size of Uint64", unsafe.Sizeof(Uint64{}), 8},
		{"alignment of Uint64", unsafe.Alignof(Uint64{}), 8},
		{"offset of a Uint64 behind a uint32", unsafe.Offsetof(behind.w64), 8},
		{"size of CacheLinePad", unsafe.Sizeof(behind.pad), CacheLine},
	} {
		require.Equal(t, f.what, f.got, f.want)
	}
}

func TestZeroValue(t *testing.T) {
	var w32 Uint32
	var w64 Uint64
	if w32.Load() != 0 || w64.Load() != 0 || !compareAndSwap(&w32, 0, 1) {
		t.Error("the zero value is not 0")
	}
}

func TestTestAndSet(t *testing.T) {
	var x Uint32
	for round := range 1000 {
		x.Store(0)
		var won Uint32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if x.TestAndSet() {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || x.Load() != 1 {
			t.Fatalf("round %d: %d of 4 set the word, which is %d", round, won.Load(), x.Load())
		}
	}
	if x.Store(7); x.TestAndSet() || x.Load() != 7 {
		t.Errorf("a word of 7 was set, it is %d", x.Load())
	}
}

type pollable[T uint32 | uint64] interface {
	Load() T
	Store(T)
	StoreRelease(T)
	PollWhile(v T, n int) (last T, found int)
}

type pollWords[W any] struct{ below, word, above W }

func TestPollWhile(t *testing.T) {
	t.Run("32", func(t *testing.T) {
		w := new(pollWords[Uint32])
		checkPolls(t, &w.word, []*Uint32{&w.below, &w.above})
	})
	t.Run("64", func(t *testing.T) {
		w := new(pollWords[Uint64])
		checkPolls(t, &w.word, []*Uint64{&w.below, &w.above})
	})
}

func checkPolls[T uint32 | uint64, W pollable[T]](t *testing.T, word W, neighbours []W) {
	top := ^(^T(0) >> 1)
	for _, v := range []T{0, 1, 5, top, top + 1, ^T(0)} {
		word.Store(v)
		for _, n := range neighbours {
			n.Store(v + 1)
		}
		for _, n := range []int{-1, 0, 1, 2, 3, 17, 63, 64, 65, 1 << 20} {
			most := min(max(n, 1), 64)
			if last, found := word.PollWhile(v, n); last != v || found != most {
				t.Errorf("%d polls of %#x while it is that: %#x, found %d times; want %d", n, v, last, found, most)
			}
			for bit := range 8 * unsafe.Sizeof(v) {
				other := v ^ 1<<bit
				if last, found := word.PollWhile(other, n); last != v || found != 0 {
					t.Fatalf("%d polls of %#x while it is %#x: %#x, found %d times", n, v, other, last, found)
				}
			}
		}
		for _, n := range append(neighbours, word) {
			if got := n.Load(); got != v && got != v+1 {
				t.Errorf("a poll has written %#x", got)
			}
		}
	}
}

// TestPollWhileSees passes plain memory between two goroutines through PollWhile only: a poll
// ends when another CPU stores, and shows everything stored before that.
func TestPollWhileSees(t *testing.T) {
	t.Run("32", func(t *testing.T) { pollInTurn[uint32](t, new(Uint32)) })
	t.Run("64", func(t *testing.T) { pollInTurn[uint64](t, new(Uint64)) })
}

func pollInTurn[T uint32 | uint64, W pollable[T]](t *testing.T, word W) {
	const turns = 2000
	deadline := time.Now().Add(10 * time.Second)
	for halfway := 0; halfway == 0; {
		word.Store(0)
		var data T // guarded by word: an even number belongs to 0, an odd one to 1
		var errs [2]error
		var seen [2]int
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				for k := T(i); k < turns && errs[i] == nil; k += 2 {
					n, err := awaitTurn(word, k, deadline)
					seen[i] += n
					errs[i] = errors.Join(err, expectEqual("data", data, k))
					data = k + 1
					word.StoreRelease(k + 1)
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs[:]...))
		halfway = seen[0] + seen[1]
		if halfway == 0 && runtime.NumCPU() == 1 {
			return // the other goroutine cannot store meanwhile
		}
		if halfway == 0 && time.Now().After(deadline) {
			t.Fatal("each poll that saw a change saw it at once: does it load only once?")
		}
	}
}

// awaitTurn polls until word changes from k-1 to k, and counts the polls that came too early.
func awaitTurn[T uint32 | uint64, W pollable[T]](word W, k T, deadline time.Time) (halfway int, err error) {
	for {
		last, found := word.PollWhile(k-1, 64)
		if changed := found < 64; changed != (last != k-1) {
			return halfway, fmt.Errorf("turn %d: a poll found it %d times and returned %d", k, found, last)
		}
		if last == k {
			if found > 0 {
				halfway++
			}
			return halfway, nil
		}
		if time.Now().After(deadline) {
			return halfway, fmt.Errorf("turn %d: stuck", k)
		}
		runtime.Gosched()
	}
}
