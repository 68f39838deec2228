package atomics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// TestPrimitive applies this checker to the Suite, TestCheckRejects to broken primitives.

// checkPrimitive returns the faults of p: on one goroutine and then, if there are none, on several,
// where a wrong primitive may do anything. visible: the race detector sees the order of p.
func checkPrimitive(p *Primitive, visible bool) error {
	random := rand.NewChaCha8([32]byte([]byte("the same scripts in every run...")))
	for range 200 {
		script := make([]byte, 40*stepSize)
		random.Read(script)
		if err := compareWithReference(p, script); err != nil {
			return err
		}
	}
	h32, h64 := hammer[uint32]{p.Word32, visible}, hammer[uint64]{p.Word64, visible}
	return errors.Join(h32.all(), h64.all())
}

func compareWithReference(p *Primitive, script []byte) error {
	if err := differWidth(p.Word32, Reference.Word32, script); err != nil {
		return fmt.Errorf("32 bits: %w", err)
	}
	if err := differWidth(p.Word64, Reference.Word64, script); err != nil {
		return fmt.Errorf("64 bits: %w", err)
	}
	return nil
}

// stepSize is the bytes of a script's step: operation, choice of operands, 8 for them.
const stepSize = 10

func differWidth[T uint32 | uint64](got, want Operations[T], script []byte) error {
	// The word is in the middle. Its neighbours must stay as they are.
	const guard = 0xA5A5A5A5
	g, w := &[3]T{guard, 0, guard}, &[3]T{guard, 0, guard}
	if unsafe.Sizeof(T(0)) == 8 { // at a multiple of 8 also on 32-bit platforms
		g, w = new([3]T), new([3]T)
		*g, *w = [3]T{guard, 0, guard}, [3]T{guard, 0, guard}
	}
	for ; len(script) >= stepSize; script = script[stepSize:] {
		a, b := drawOperands(w[1], script[1], script[2:stepSize])
		var name string
		var rg, rw any
		switch script[0] % 5 {
		case 0:
			name, rg, rw = "CompareAndSwap", got.CompareAndSwap(&g[1], a, b), want.CompareAndSwap(&w[1], a, b)
		case 1:
			name, rg, rw = "Swap", got.Swap(&g[1], b), want.Swap(&w[1], b)
		case 2:
			name, rg, rw = "Add", got.Add(&g[1], b), want.Add(&w[1], b)
		case 3:
			name, rg, rw = "LoadAcquire", got.LoadAcquire(&g[1]), want.LoadAcquire(&w[1])
		case 4:
			name = "StoreRelease"
			got.StoreRelease(&g[1], b)
			want.StoreRelease(&w[1], b)
		}
		if rg != rw {
			return fmt.Errorf("%s(%#x, %#x) returns %#x, want %#x", name, a, b, rg, rw)
		}
		if *g != *w {
			return fmt.Errorf("%s(%#x, %#x) leaves %#x in memory, want %#x", name, a, b, *g, *w)
		}
	}
	return nil
}

// drawOperands chooses the values to compare with and to write. Half of the former equal the word,
// a quarter differ in one bit; some of the latter are at an end of the range.
func drawOperands[T uint32 | uint64](now T, how byte, data []byte) (a, b T) {
	bits := 8 * unsafe.Sizeof(now)
	v := binary.LittleEndian.Uint64(data)
	switch a, b = T(v>>3), T(v); how & 3 {
	case 0, 1:
		a = now
	case 2:
		a = now ^ 1<<(uintptr(data[0])%bits)
	}
	switch how >> 2 & 7 {
	case 0:
		b = 0
	case 1:
		b = ^T(0)
	case 2:
		b = 1
	case 3:
		b = now ^ 1<<(bits-1)
	}
	return a, b
}

type hammer[T uint32 | uint64] struct {
	Operations[T]
	visible bool
}

const (
	workers  = 4
	batch    = 100  // operations of a worker between two loads of the others' progress
	enough   = 300  // batches during which another worker finished one
	lockUses = 2000 // acquisitions of a worker
)

func (h hammer[T]) all() error {
	bits := unsafe.Sizeof(T(0)) * 8
	var errs []error
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"CompareAndSwap", h.casCounts},
		{"Add", h.addCounts},
		{"Swap", h.swapKeeps},
		{"lock", h.lockExcludes},
		{"handover", h.releasePublishes},
	} {
		if err := part.run(); err != nil {
			errs = append(errs, fmt.Errorf("%s, %d bits, %d goroutines: %w", part.name, bits, workers, err))
		}
	}
	return errors.Join(errs...)
}

func (h hammer[T]) casCounts() error {
	word := new(T)
	n := runWorkers(func(int) {
		for {
			if old := h.LoadAcquire(word); h.CompareAndSwap(word, old, old+1) {
				return
			}
		}
	})
	return expectEqual("sum", h.LoadAcquire(word), T(n))
}

func (h hammer[T]) addCounts() error {
	word := new(T)
	var sums [workers]T
	n := runWorkers(func(i int) { sums[i] += h.Add(word, 1) })
	return errors.Join(
		expectEqual("sum", h.LoadAcquire(word), T(n)),
		expectEqual("sum of the results", total(sums), T(n*(n+1)/2)),
	)
}

func (h hammer[T]) swapKeeps() error {
	word := new(T)
	var token, in, out [workers]T
	runWorkers(func(i int) {
		token[i] += workers
		in[i] += token[i] + T(i)
		out[i] += h.Swap(word, token[i]+T(i))
	})
	return expectEqual("sum of the tokens that came out", total(out)+h.LoadAcquire(word), total(in))
}

func (h hammer[T]) lockExcludes() error {
	word := new(T)
	var stuck [workers]error
	var count, inside int // guarded by word
	overlaps := 0         // guarded by word
	runTogether(func(i int) {
		for k := range lockUses {
			if stuck[i] = waitUntil(func() bool { return h.CompareAndSwap(word, 0, 1) }); stuck[i] != nil {
				return
			}
			h.acquired(word)
			inside++
			count++
			if k%8 == 0 {
				runtime.Gosched()
			}
			if inside != 1 {
				overlaps++
			}
			inside--
			h.releasing(word)
			h.StoreRelease(word, 0)
		}
	})
	return errors.Join(errors.Join(stuck[:]...),
		expectEqual("two inside", overlaps, 0),
		expectEqual("count", count, workers*lockUses))
}

// releasePublishes passes plain memory between two goroutines by StoreRelease and
// LoadAcquire only.
func (h hammer[T]) releasePublishes() error {
	word := new(T)
	var data T // guarded by word: an even number belongs to 0, an odd one to 1
	var errs [2]error
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			for k := T(i); k < lockUses; k += 2 {
				if errs[i] = waitUntil(func() bool { return h.LoadAcquire(word) == k }); errs[i] != nil {
					return
				}
				h.acquired(word)
				errs[i] = errors.Join(errs[i], expectEqual("data", data, k))
				data = k + 1
				h.releasing(word)
				h.StoreRelease(word, k+1)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

func (h hammer[T]) acquired(word *T) {
	if !h.visible {
		raceAcquire(unsafe.Pointer(word))
	}
}

func (h hammer[T]) releasing(word *T) {
	if !h.visible {
		raceRelease(unsafe.Pointer(word))
	}
}

// runWorkers calls operation(i), i below workers, repeatedly from one goroutine each, until they
// have run in parallel or for 200 ms (one CPU), and returns the number of calls.
func runWorkers(operation func(i int)) (calls uint64) {
	var batches, overlaps atomic.Uint64
	deadline := time.Now().Add(200 * time.Millisecond)
	runTogether(func(i int) {
		for last := uint64(0); overlaps.Load() < enough; {
			for range batch {
				operation(i)
			}
			now := batches.Add(1)
			if now != last+1 { // another worker finished a batch meanwhile
				overlaps.Add(1)
			}
			if last = now; now%64 == 0 && time.Now().After(deadline) {
				overlaps.Store(enough)
			}
		}
	})
	return batches.Load() * batch
}

// runTogether runs f(0) to f(workers-1), started at the same time, and waits for all.
func runTogether(f func(i int)) {
	var arrived atomic.Int32
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for arrived.Add(1); arrived.Load() < workers; {
				runtime.Gosched()
			}
			f(i)
		})
	}
	wg.Wait()
}

func waitUntil(done func() bool) error {
	var deadline time.Time
	for i := 1; !done(); i++ {
		runtime.Gosched()
		if i%10_000 != 0 {
			continue
		}
		if now := time.Now(); deadline.IsZero() {
			deadline = now.Add(time.Minute)
		} else if now.After(deadline) {
			return errors.New("stuck")
		}
	}
	return nil
}

func total[T uint32 | uint64](vs [workers]T) (sum T) {
	for _, v := range vs {
		sum += v
	}
	return sum
}

func expectEqual[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}
