package mutex

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// bravoInhibit is the time for which the bypass stays shut, in units of the revocation's:
// writers lose at most about a tenth of their time. It is N = 9 in the paper.
const bravoInhibit = 9

// BRAVO makes readers of any readers-writer lock cheap while there are only readers. While the
// bias is set, a reader bypasses the lock underneath and sets its own word instead. A writer
// takes the lock underneath, clears the bias, and waits until all of these words are clear.
//
// # Trade-offs
//
// No two readers write to the same cache line, so reading gets faster with every processor,
// unlike with a counter of readers. The price: after a time without writers, a writer reads
// one word per worker. While writers keep coming, an acquisition costs the lock underneath
// plus a load. A writer that waits for a reader on the bypass polls.
//
// The paper hashes thread and lock into one table for the whole process. Go has no cheap name
// for a thread, so here workers have numbers, and each lock has its own table with a cache
// line per worker: no two readers collide, but a lock is larger.
//
// # Memory ordering
//
// A reader stores its word and then loads the bias; a writer stores the bias and then loads the
// word. Neither pair may be reordered, or both would enter: all four are sequentially
// consistent. A writer that finds the word clear has seen the release store of that reader's
// RUnlock, which checks for no waiter: the writer polls. Writers, and readers without the
// bypass, are ordered by the lock underneath. Only a reader that holds that lock sets the bias.
//
// # References
//
// Dave Dice and Alex Kogan, "BRAVO - Biased Locking for Reader-Writer Locks", USENIX Annual
// Technical Conference (ATC), 2019, pages 315-328, listing 1. arXiv 1810.01553.
type BRAVO struct {
	under   RWLocker
	readers []BRAVOWorker
	wait    waiting.Waiter

	// until is the time in atomics.Ticks before which the bias stays clear; guarded by
	// the lock underneath.
	until uint64

	_    atomics.CacheLinePad
	bias atomics.Uint32 // 1 if readers may take the bypass
	_    atomics.CacheLinePad
}

// BRAVOWorker is the handle of one worker of a [BRAVO] lock. It is an [RWLocker].
type BRAVOWorker struct {
	lock   *BRAVO
	_      atomics.CacheLinePad
	inside atomics.Uint32 // 1 while this worker reads on the bypass; written by this worker only
	_      atomics.CacheLinePad
}

// NewBRAVO returns a lock for that many workers, at least 1, over under, which must be
// free and used for nothing else. o.Wait has no effect.
func NewBRAVO(workers int, under RWLocker, o Options) *BRAVO {
	o.check(workers)
	l := &BRAVO{
		under:   under,
		readers: make([]BRAVOWorker, workers),
		wait:    waiting.New(WaitAdaptive, o.Pin),
		until:   bravoTicks(),
	}
	for i := range l.readers {
		l.readers[i].lock = l
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *BRAVO) Worker(i int) *BRAVOWorker {
	waiting.CheckWorker(i, len(l.readers))
	return &l.readers[i]
}

// RLock takes the lock as a reader and waits for a writer if need be.
func (r *BRAVOWorker) RLock() {
	if bias := &r.lock.bias; bias.Load() != 0 {
		r.inside.Store(1)
		if bias.Load() != 0 {
			return
		}
		r.inside.StoreRelease(0) // a writer came in between
	}
	r.rLockSlow()
}

func (r *BRAVOWorker) rLockSlow() {
	l := r.lock
	l.under.RLock()
	if l.bias.Load() == 0 && int64(bravoTicks()-l.until) >= 0 {
		l.bias.Store(1)
	}
}

// RUnlock releases the lock, which the worker must hold as a reader.
func (r *BRAVOWorker) RUnlock() {
	if r.inside.Load() != 0 {
		r.inside.StoreRelease(0)
		return
	}
	r.lock.under.RUnlock()
}

// Lock takes the lock as a writer and waits for it if need be.
func (r *BRAVOWorker) Lock() {
	r.lock.under.Lock()
	if r.lock.bias.Load() != 0 {
		r.lock.revoke()
	}
}

func (l *BRAVO) revoke() {
	l.bias.Store(0)
	start := bravoTicks()
	for i := range l.readers {
		for w := l.wait; l.readers[i].inside.Load() != 0; {
			w.Wait()
		}
	}
	end := bravoTicks()
	// The clocks of two processors may differ a little: not less than 0.
	l.until = end + bravoInhibit*uint64(max(0, int64(end-start)))
}

// Unlock releases the lock, which the worker must hold as a writer.
func (r *BRAVOWorker) Unlock() { r.lock.under.Unlock() }
