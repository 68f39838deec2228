//go:build race

package mutex

import (
	"runtime"
	"unsafe"

	"locklab/atomics"
)

// Readers count themselves by read-modify-write instructions, in which the race detector sees a
// message from each reader to the next. These types hide the counting from it. As in
// [sync.RWMutex], readers acquire from writers, and writers acquire from readers.
type (
	rwState struct{ atomics.Uint64 }
	rwCount struct{ atomics.Uint32 }
)

func (x *rwState) Add(n uint64) uint64 {
	if n != rwInside && n != ^uint64(rwInside-1) {
		return x.Uint64.Add(n)
	}
	s := addQuietly(unsafe.Pointer(x), x.Uint64.Add, n)
	if n == rwInside {
		x.Uint64.Load() // acquires from writers
	}
	return s
}

func (x *rwState) CompareAndSwap(old, n uint64) bool {
	if old == n { // a reader looks for another one
		return x.Uint64.Load() == n
	}
	done := x.Uint64.CompareAndSwap(old, n)
	x.Load()
	return done
}

// Load acquires from readers if there is a writer, which waits for them or is the caller.
func (x *rwState) Load() uint64 {
	s := x.Uint64.Load()
	if s&rwWriter != 0 {
		runtime.RaceAcquire(readers(unsafe.Pointer(x)))
	}
	return s
}

func (x *rwCount) Add(n uint32) uint32 { return addQuietly(unsafe.Pointer(x), x.Uint32.Add, n) }

// Load acquires from readers. Only writers call it.
func (x *rwCount) Load() uint32 {
	n := x.Uint32.Load()
	runtime.RaceAcquire(readers(unsafe.Pointer(x)))
	return n
}

// addQuietly releases to writers, and hides add from the race detector.
func addQuietly[N any](word unsafe.Pointer, add func(N) N, n N) N {
	runtime.RaceReleaseMerge(readers(word))
	runtime.RaceDisable()
	defer runtime.RaceEnable()
	return add(n)
}

// readers returns the address in a word that stands for its readers.
func readers(word unsafe.Pointer) unsafe.Pointer { return unsafe.Add(word, 1) }
