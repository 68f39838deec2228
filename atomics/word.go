//go:build !systematic

package atomics

import "sync/atomic"

// A Uint32 is a 32-bit word shared by goroutines. The zero value is 0. It must not be copied
// after its first use.
//
// Load, Store, CompareAndSwap, Swap and Add come from [sync/atomic]. All of them, on all
// words, happen in one order on which every goroutine agrees (sequential consistency), and an
// operation that observes the effect of another happens after it. [Uint32.StoreRelease] is
// weaker.
//
// It is not an atomic.Uint32 because a call inlined twice counts twice against the compiler's
// inlining budget, and a lock's fast path must fit.
type Uint32 struct {
	_ noCopy
	v uint32
}

// Load returns the value.
func (x *Uint32) Load() uint32 { return atomic.LoadUint32(&x.v) }

// Store sets the value to v. On amd64 it is an XCHG, which waits until the
// CPU's store buffer is empty.
func (x *Uint32) Store(v uint32) { atomic.StoreUint32(&x.v, v) }

// StoreRelease sets the value to v, for the holder that releases a lock. As with Store, a
// goroutine that loads v or swaps it out of the word sees everything that this goroutine did
// before.
//
// It is weaker than Store in one way: a later Load of another word in the same goroutine may
// take its value before v is visible to others. Never use it if Unlock then checks for
// sleepers (a futex, a queue of parked goroutines). The check could miss a waiter that went to
// sleep because it saw the lock still taken, and that waiter would never be woken.
//
// On amd64 it is a plain MOV, about half the price of an uncontended lock and unlock; CPUs of
// that architecture make stores visible in program order. The compiler must not move memory
// accesses from before it to behind it. To the Go memory model it is a data race, so the model
// does not promise that. The compilers of Go 1.26 and 1.27 keep stores in order and loads
// before the next store, and a test reads their output. For later compilers the MOV is a call
// to assembly, which they cannot see into.
//
// On other architectures, and under the race detector and the tag purego, it is Store. Under
// the tag systematic the Scheduler decides when others see it.
func (x *Uint32) StoreRelease(v uint32) { storeRelease32(&x.v, v) }

// CompareAndSwap sets the value to new if it is old, and reports whether it did.
func (x *Uint32) CompareAndSwap(old, new uint32) bool {
	return atomic.CompareAndSwapUint32(&x.v, old, new)
}

// Swap sets the value to v and returns the old value.
func (x *Uint32) Swap(v uint32) uint32 { return atomic.SwapUint32(&x.v, v) }

// Add adds delta, modulo 1<<32, and returns the new value. To subtract d, add -d.
func (x *Uint32) Add(delta uint32) uint32 { return atomic.AddUint32(&x.v, delta) }

// TestAndSet sets the value to 1 if it is 0, and reports whether it did. It loads the
// value first, and tries a CompareAndSwap only if it saw 0. The two are one method so
// that a lock that begins with them is small enough to be inlined.
func (x *Uint32) TestAndSet() bool {
	return atomic.LoadUint32(&x.v) == 0 && atomic.CompareAndSwapUint32(&x.v, 0, 1)
}

// AddRelease is StoreRelease of the value plus delta, for a word that only the holder changes.
func (x *Uint32) AddRelease(delta uint32) { storeRelease32(&x.v, atomic.LoadUint32(&x.v)+delta) }

// GuardedReset sets other to 0 if x is 0 and other is old, and reports whether it did. It
// loads x first, and tries a CompareAndSwap only if it saw 0 there.
func (x *Uint32) GuardedReset(other *Uint32, old uint32) bool {
	return atomic.LoadUint32(&x.v) == 0 && atomic.CompareAndSwapUint32(&other.v, old, 0)
}

// A Uint64 is a 64-bit word shared by goroutines, aligned to 8 bytes on 32-bit platforms
// too. The zero value is 0. It must not be copied after its first use. Its operations are
// ordered like the operations of [Uint32].
type Uint64 struct{ v atomic.Uint64 }

// AddRelease is StoreRelease of the value plus delta, for a word that only the holder changes.
func (x *Uint64) AddRelease(delta uint64) { storeRelease64(&x.v, x.v.Load()+delta) }

// Load returns the value.
func (x *Uint64) Load() uint64 { return x.v.Load() }

// Store sets the value to v.
func (x *Uint64) Store(v uint64) { x.v.Store(v) }

// StoreRelease sets the value to v, for the holder that releases a lock. It is weaker
// than Store: read the rule of [Uint32.StoreRelease] first.
func (x *Uint64) StoreRelease(v uint64) { storeRelease64(&x.v, v) }

// CompareAndSwap sets the value to new if it is old, and reports whether it did.
func (x *Uint64) CompareAndSwap(old, new uint64) bool { return x.v.CompareAndSwap(old, new) }

// Swap sets the value to v and returns the old value.
func (x *Uint64) Swap(v uint64) uint64 { return x.v.Swap(v) }

// Add adds delta, modulo 1<<64, and returns the new value. To subtract d, add -d.
func (x *Uint64) Add(delta uint64) uint64 { return x.v.Add(delta) }

// noCopy lets go vet find copies of a word.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
