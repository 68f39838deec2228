package locktest

import (
	"context"
	"iter"
	"sync"
	"time"

	"locklab/harness"
)

func checkTry(ctx context.Context, s Subject) {
	n := atMost(s.Variant, 2)
	if _, ok := (shape{workers: n}).all(ctx, s, n)[0].(harness.TryLocker); !ok {
		must(NotApplicable("the lock has no TryLock"))
	}
	eachShape(ctx, s, func(r *rig) {
		alone(ctx, s, isFree, func() { trySteps(r.hs) })
	})
	sh := shape{workers: atMost(s.Variant, 5)}
	within(sh, func() { tryOften(ctx, s, sh.handles(ctx, s)) })
	eachRound(ctx, s, func(r *rig) { tryContended(ctx, r) })
}

func trySteps(hs []sync.Locker) {
	a, b := hs[0], hs[len(hs)-1]
	tryA, tryB := a.(harness.TryLocker), b.(harness.TryLocker)
	two := len(hs) > 1 // without handles all workers have the same lock
	for range 3 {
		if !tryA.TryLock() {
			fail("TryLock refused a free lock")
		}
		if two && tryB.TryLock() {
			fail("TryLock took a lock that TryLock had taken")
		}
		a.Unlock()
		b.Lock()
		if two && tryA.TryLock() {
			fail("TryLock took a lock that Lock had taken")
		}
		b.Unlock()
	}
}

// tryFirst takes a lock by TryLock if it is free.
type tryFirst struct{ sync.Locker }

func (h tryFirst) Lock() {
	if !h.Locker.(harness.TryLocker).TryLock() {
		h.Locker.Lock()
	}
}

// tryContended makes every other worker try the lock while the rest take it, most as readers.
func tryContended(ctx context.Context, r *rig) {
	var in inside
	_, rw := r.hs[0].(harness.RWLocker)
	r.drive(ctx, func(_ context.Context, i int) {
		h, reads := r.hs[i], rw && i%2 == 0 && r.p.reads(i)
		if i%2 == 1 {
			h = tryFirst{h}
		}
		visit(h, &in, i, reads, func() { r.p.hold(i) })
		r.p.think(i)
	})
}

// often is the number of tries, enough to find a fault in one of 10,000.
const often = 100_000

// The tries of a distributed lock, if the stress time allows, and at least.
const (
	manyTries = 300
	fewTries  = 10
)

// tries yields the numbers of the tries of one hold.
func (s Subject) tries() iter.Seq[int] {
	return func(yield func(int) bool) {
		most, remote, end := often, isRemote(s.Variant), time.Now().Add(s.stress()/2)
		if remote {
			most = manyTries
		}
		for k := range most {
			if remote && k >= fewTries && time.Now().After(end) || !yield(k) {
				return
			}
		}
	}
}

// tryOften tries a lock that is held by Lock, by TryLock and by a reader, with and
// without waiters, and a free one. Afterwards the lock must still work.
func tryOften(ctx context.Context, s Subject, hs []sync.Locker) {
	if len(hs) > 1 {
		tryHeldOften(ctx, s, hs)
	}
	alone(ctx, s, isFree, func() {
		for k := range s.tries() {
			h := hs[k%len(hs)]
			if !h.(harness.TryLocker).TryLock() {
				fail("TryLock refused a free lock when it was tried for the %dth time", k+1)
			}
			h.Unlock()
		}
	})
	checkAged(ctx, s, hs)
}

func tryHeldOften(ctx context.Context, s Subject, hs []sync.Locker) {
	holder, try := hs[0], hs[1].(harness.TryLocker)
	holds := []struct{ take, leave func() }{
		{holder.Lock, holder.Unlock},
		{func() { holder.(harness.TryLocker).TryLock() }, holder.Unlock},
	}
	if sharesReads(s, hs) {
		rw := holder.(harness.RWLocker)
		holds = append(holds, struct{ take, leave func() }{rw.RLock, rw.RUnlock})
	}
	for _, hold := range holds {
		alone(ctx, s, "a free lock does not open, or TryLock waits for a held one,", func() {
			hold.take()
			defer hold.leave()
			keptOutOften(s, try)
		})
		tryAmongWaiters(ctx, s, hs, hold.take, hold.leave)
	}
}

func keptOutOften(s Subject, try harness.TryLocker) {
	for k := range s.tries() {
		if try.TryLock() {
			fail("TryLock took a held lock when it was tried for the %dth time", k+1)
		}
	}
}

func tryAmongWaiters(ctx context.Context, s Subject, hs []sync.Locker, take, leave func()) {
	var in inside
	held, asked := make(chan struct{}), make(chan struct{}, len(hs))
	drive(ctx, len(hs), s.limits(1), func(ctx context.Context, i int) {
		switch i {
		case 0:
			take()
			close(held)
			defer leave()
			for range len(hs) - 1 {
				await(ctx, asked)
			}
		case 1:
			await(ctx, held)
			defer func() { asked <- struct{}{} }()
			keptOutOften(s, hs[1].(harness.TryLocker))
		default:
			await(ctx, held)
			asked <- struct{}{}
			hs[i].Lock()
			defer hs[i].Unlock()
			must(in.write(i, func() {}))
		}
	})
}
