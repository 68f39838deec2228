//go:build gc && !purego

package hardware

// bareLock takes and frees the lock in p n times, by LOCK CMPXCHG and MOV only; n > 0.
//
//go:noescape
func bareLock(p *uint32, n int)

var bareFastPath = &fastPath{"LOCK CMPXCHG, MOV", func(w *fastPathWords, n int) { bareLock(&w.bare, n) }}
