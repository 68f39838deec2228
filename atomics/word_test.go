package atomics

import (
	"sync"
	"testing"
	"unsafe"
)

// words returns the methods of Uint32 and Uint64 as a Primitive, so that check applies to them.
func words(store32 func(*Uint32, uint32), store64 func(*Uint64, uint64)) *Primitive {
	w32 := func(p *uint32) *Uint32 { return (*Uint32)(unsafe.Pointer(p)) }
	w64 := func(p *uint64) *Uint64 { return (*Uint64)(unsafe.Pointer(p)) }
	return &Primitive{
		CompareAndSwap32: func(p *uint32, old, new uint32) bool { return w32(p).CompareAndSwap(old, new) },
		CompareAndSwap64: func(p *uint64, old, new uint64) bool { return w64(p).CompareAndSwap(old, new) },
		Swap32:           func(p *uint32, new uint32) uint32 { return w32(p).Swap(new) },
		Swap64:           func(p *uint64, new uint64) uint64 { return w64(p).Swap(new) },
		Add32:            func(p *uint32, delta uint32) uint32 { return w32(p).Add(delta) },
		Add64:            func(p *uint64, delta uint64) uint64 { return w64(p).Add(delta) },
		LoadAcquire32:    func(p *uint32) uint32 { return w32(p).Load() },
		LoadAcquire64:    func(p *uint64) uint64 { return w64(p).Load() },
		StoreRelease32:   func(p *uint32, v uint32) { store32(w32(p), v) },
		StoreRelease64:   func(p *uint64, v uint64) { store64(w64(p), v) },
	}
}

// TestWords compares the words with sync/atomic; the race detector follows their locks.
func TestWords(t *testing.T) {
	for name, p := range map[string]*Primitive{
		"Store":        words((*Uint32).Store, (*Uint64).Store),
		"StoreRelease": words((*Uint32).StoreRelease, (*Uint64).StoreRelease),
	} {
		t.Run(name, func(t *testing.T) {
			if err := check(p, true); err != nil {
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
		if f.got != f.want {
			t.Errorf("%s is %d, want %d", f.what, f.got, f.want)
		}
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
