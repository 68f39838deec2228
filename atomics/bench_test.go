package atomics

import (
	"fmt"
	"testing"
	"unsafe"
)

// BenchmarkPrimitive measures each primitive alone on its word, through a function value, which
// hides the gain of inlining: see BenchmarkWord. op=cas is CompareAndSwap and StoreRelease.
func BenchmarkPrimitive(b *testing.B) {
	for _, p := range Suite {
		benchmarkWidth(b, p, ops32(p))
		benchmarkWidth(b, p, ops64(p))
	}
}

func benchmarkWidth[T uint32 | uint64](b *testing.B, p *Primitive, o ops[T]) {
	word := new(T)
	bench := func(op string, loop func(b *testing.B)) {
		b.Run(fmt.Sprintf("prim=%s/op=%s/bits=%d", p.Name, op, 8*unsafe.Sizeof(*word)), func(b *testing.B) {
			if !p.Available() {
				b.Skipf("this CPU lacks %s", p.Insn)
			}
			*word = 0
			loop(b)
		})
	}
	bench("cas", func(b *testing.B) {
		for b.Loop() {
			o.cas(word, 0, 1)
			o.store(word, 0)
		}
	})
	bench("swap", func(b *testing.B) {
		for b.Loop() {
			o.swap(word, 1)
		}
	})
	bench("add", func(b *testing.B) {
		for b.Loop() {
			o.add(word, 1)
		}
	})
	bench("load-acquire", func(b *testing.B) {
		for b.Loop() {
			o.load(word)
		}
	})
	bench("store-release", func(b *testing.B) {
		for b.Loop() {
			o.store(word, 1)
		}
	})
}

// BenchmarkWord measures the inlined operations of locks: CompareAndSwap and either store.
func BenchmarkWord(b *testing.B) {
	b.Run("release=store/bits=32", func(b *testing.B) {
		var w Uint32
		for b.Loop() {
			w.CompareAndSwap(0, 1)
			w.Store(0)
		}
	})
	b.Run("release=store-release/bits=32", func(b *testing.B) {
		var w Uint32
		for b.Loop() {
			w.CompareAndSwap(0, 1)
			w.StoreRelease(0)
		}
	})
	b.Run("release=store/bits=64", func(b *testing.B) {
		var w Uint64
		for b.Loop() {
			w.CompareAndSwap(0, 1)
			w.Store(0)
		}
	})
	b.Run("release=store-release/bits=64", func(b *testing.B) {
		var w Uint64
		for b.Loop() {
			w.CompareAndSwap(0, 1)
			w.StoreRelease(0)
		}
	})
}

func BenchmarkSpinHint(b *testing.B) {
	for _, n := range []int{1, 8, maxSpin} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				SpinHint(n)
			}
		})
	}
}

func BenchmarkTicks(b *testing.B) {
	b.Run("clock="+ClockName(), func(b *testing.B) {
		for b.Loop() {
			Ticks()
		}
	})
}
