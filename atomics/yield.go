//go:build !systematic

package atomics

import "runtime"

// Yield lets the goroutines that are ready to run go before the caller: runtime.Gosched,
// about 0.1 µs. After runtime.LockOSThread it hands the processor to another thread,
// which takes about 60 µs: see [YieldThread].
//
// Locks yield by this function and not by runtime.Gosched, because a schedule explorer
// can see it (build tag systematic).
func Yield() { runtime.Gosched() }

// YieldThread lets the threads that are ready to run in the operating system go before
// the caller's: sched_yield on Linux, about 1 µs; elsewhere it is [Yield]. It is for a
// goroutine locked to its thread, on a CPU that other such threads use too. It does not
// let other goroutines run: the thread keeps its place in the Go scheduler (one of
// GOMAXPROCS) all the time.
func YieldThread() { yieldThread() }
