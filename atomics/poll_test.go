package atomics

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"
)

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
					errs[i] = errors.Join(err, expect("data", data, k))
					data = k + 1
					word.StoreRelease(k + 1)
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
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
