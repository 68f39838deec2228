package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

func liveness(ctx context.Context, s Subject) {
	uses, stay := uint64(100), runtime.Gosched // so that waiters queue up
	if isRemote(s.Variant) {
		uses, stay = 10, func() { time.Sleep(time.Millisecond) }
	}
	eachShape(ctx, s, func(r *rig) {
		r.lim.uses = uses
		r.drive(ctx, func(_ context.Context, i int) {
			r.visit(i, func() error { stay(); return nil })
		})
	})
	if isRemote(s.Variant) {
		return
	}
	eachRound(ctx, s, func(r *rig) {
		r.drive(ctx, func(_ context.Context, i int) {
			acquireRelease(r.hs[i], false) // an empty section lets arrivals meet releases
			r.p.think(i)
		})
	})
}

func exclusion(ctx context.Context, s Subject) {
	eachRound(ctx, s, func(r *rig) {
		var in inside
		r.drive(ctx, func(_ context.Context, i int) {
			r.visit(i, func() error { return in.visit(i, func() { r.hold(i) }) })
		})
	})
}

func lostUpdate(ctx context.Context, s Subject) {
	eachRound(ctx, s, func(r *rig) {
		var n uint64 // plain memory, guarded only by the lock
		uses := r.drive(ctx, func(_ context.Context, i int) {
			r.visit(i, func() error {
				seen := n
				r.hold(i)
				n = seen + 1
				return nil
			})
		})
		compare(n, uses)
	})
}

func reuse(ctx context.Context, s Subject) {
	nestTwoLocks(ctx, s)
	times := 10
	if isRemote(s.Variant) {
		times = 2
	}
	eachShape(ctx, s, func(r *rig) {
		alone(ctx, s, isFree, func() {
			for range times { // first one handle repeatedly, then the handles alternately
				for _, h := range slices.Concat(slices.Repeat(r.hs[:1], 5), r.hs) {
					acquireRelease(h, false)
				}
			}
		})
	})
}

// nestTwoLocks nests two locks, released in the order of acquisition, and releases a lock
// in another goroutine: a handle belongs to none.
func nestTwoLocks(ctx context.Context, s Subject) {
	sh := shape{workers: atMost(s.Variant, 2)}
	a, b := sh.handles(ctx, s), sh.handles(ctx, s)
	for i := range a {
		for _, step := range []func(){a[i].Lock, b[i].Lock, a[i].Unlock, b[i].Unlock} { // each in a separate goroutine
			alone(ctx, s, "another lock is held, or another goroutine took this one: Lock or Unlock has not returned", step)
		}
	}
}

func hasPermits(v *harness.Variant) bool { return v.Traits.Permits > 1 }

// checkPermits takes all permits, refuses the next worker, and lets workers contend.
func checkPermits(ctx context.Context, s Subject) {
	permits := s.Variant.Traits.Permits
	n := permits + 2
	if most := s.Variant.Traits.MaxWorkers; most > 0 && most < n {
		must(NotApplicable(fmt.Sprintf("no worker to refuse: the lock serves at most %d workers", most)))
	}
	contend := func(r *rig) {
		in := &limit{permits: permits}
		r.drive(ctx, func(_ context.Context, i int) {
			r.visit(i, func() error { return in.write(i, func() { r.hold(i) }) })
		})
	}
	sh := shape{workers: n, per: 2}
	within(sh, func() { countPermits(ctx, s, sh.all(ctx, s, n)) })
	if isRemote(s.Variant) {
		lim := s.limits(0)
		lim.window = s.stress()
		contend(&rig{hs: sh.all(ctx, s, n), remote: true, p: newPattern(n, false), lim: lim})
		return
	}
	permitsInBatches(ctx, s)
	// All permits are free here: the workers contend for them.
	roundsOf(ctx, s, []shape{sh}, func(r *rig) {
		r.hs = sh.all(ctx, s, n)
		contend(r)
	})
}

// A limit reports more workers inside than there are permits.
type limit struct {
	permits int
	inside  atomic.Int64
}

func (l *limit) write(_ int, stay func()) error {
	defer l.inside.Add(-1)
	if k := l.inside.Add(1); k > int64(l.permits) {
		return tooMany(k, l.permits)
	}
	stay()
	return nil
}

func (l *limit) read(int, func()) error { return errors.New("a lock with permits has no readers") }

func tooMany(got int64, permits int) error {
	return fmt.Errorf("%d workers hold a lock that claims %d permits", got, permits)
}

func countPermits(ctx context.Context, s Subject, hs []sync.Locker) {
	permits := max(1, s.Variant.Traits.Permits)
	next, more := hs[permits], tooMany(int64(permits)+1, permits)
	alone(ctx, s, permitsLeft, func() {
		for _, h := range hs[:permits] {
			h.Lock()
		}
		if try, ok := next.(harness.TryLocker); ok && try.TryLock() {
			must(more)
		}
	})
	shutOut(ctx, s, more.Error(), next.Lock, hs[0].Unlock)
	for _, h := range hs[1 : permits+1] {
		h.Unlock()
	}
}
