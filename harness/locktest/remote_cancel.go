package locktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"locklab/harness"
)

type cancelStep struct {
	name string
	run  func(*fixture)
}

func checkCancel(ctx context.Context, s Subject) {
	cancelSteps(ctx, s, func(r *fixture) {
		for _, i := range []int{2, 1, 0} {
			r.acquireRelease(i)
		}
	}, []cancelStep{
		{"context ended before Lock", func(r *fixture) { r.giveUpBefore(writing) }},
		{"deadline while waiting", giveUpAtDeadline},
		{"cancelled in the middle of the queue", func(r *fixture) { r.giveUpInQueue(writing, writing, writing) }},
		{"cancelled while the lock is released", func(r *fixture) { r.giveUpAtRelease(writing) }},
	})
}

func checkReadCancel(ctx context.Context, s Subject) {
	mustRead(shape{workers: 1}.handles(ctx, s)[0])
	cancelSteps(ctx, s, (*fixture).free, []cancelStep{
		{"context ended before RLock", func(r *fixture) { r.giveUpBefore(reading) }},
		{"a reader gives up on a writer", func(r *fixture) { r.giveUpInQueue(writing, reading, reading) }},
		{"a reader gives up before a writer behind it", func(r *fixture) { r.giveUpInQueue(writing, reading, writing) }},
		{"a writer gives up on a reader", func(r *fixture) { r.giveUpInQueue(reading, writing, writing) }},
		{"a writer gives up before a reader behind it", func(r *fixture) { r.giveUpInQueue(reading, writing, reading) }},
		{"a reader gives up while the writer leaves", func(r *fixture) { r.giveUpAtRelease(reading) }},
	})
}

func cancelSteps(ctx context.Context, s Subject, afterwards func(*fixture), steps []cancelStep) {
	inCompany(ctx, s, func(r *fixture) {
		for _, step := range steps {
			within(step.name, func() {
				step.run(r)
				within("afterwards", func() { afterwards(r) })
			})
		}
	})
}

func (r *fixture) answer(got <-chan grant) grant {
	select {
	case g := <-got:
		return g
	case <-time.After(r.s.patience()):
		fail("waits on: Lock has not returned %v after its context ended", r.s.patience())
		return grant{}
	}
}

func (r *fixture) gaveUp(ctx context.Context, got <-chan grant) {
	switch g := r.answer(got); {
	case g.err == nil:
		must(errors.Join(errors.New("took the lock under a context that has ended"), r.release(g.lease)))
	case !errors.Is(g.err, ctx.Err()):
		fail("gave up with %w, for which errors.Is(err, ctx.Err()) is false: the context's error is %q", g.err, ctx.Err())
	}
}

func (r *fixture) granted(got <-chan grant) {
	g := <-got
	if g.err != nil {
		fail("the waiter behind the one that gave up does not get the lock: %w", g.err)
	}
	r.unlock(g.lease)
}

func (r *fixture) giveUpBefore(m mode) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	r.gaveUp(ctx, r.ask(ctx, 0, m))
	if lease, err := r.tryEnter(ctx, 0, m, true); err == nil { // TryLock may ignore its context
		r.unlock(lease)
	}
}

func giveUpAtDeadline(r *fixture) {
	lease := r.lock(0)
	for _, i := range []int{1, 2} { // of the holder's client, and of another
		ctx, cancel := context.WithTimeout(r.ctx, soon/4)
		defer cancel()
		got := r.ask(ctx, i, writing)
		<-ctx.Done()
		r.gaveUp(ctx, got)
	}
	r.unlock(lease)
}

// giveUpInQueue makes a waiter give up between a holder and another waiter. If only readers
// are left, the last one must get in although the holder stays.
func (r *fixture) giveUpInQueue(inside, middle, last mode) {
	holder := r.get(0, inside)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	gone := r.ask(ctx, 1, middle)
	time.Sleep(soon / 4)
	patient, done := r.patient()
	defer done()
	behind := r.ask(patient, 2, last)
	time.Sleep(soon / 4)
	cancel()
	r.gaveUp(ctx, gone)
	if inside == reading && last == reading {
		r.granted(behind)
		r.unlock(holder)
		return
	}
	r.unlock(holder)
	r.granted(behind)
}

func (r *fixture) giveUpAtRelease(m mode) {
	for k := range 10 {
		holder := r.lock(0)
		ctx, cancel := context.WithCancel(r.ctx)
		i := 1 + k/2%2 // of the holder's client, or of another
		got := r.ask(ctx, i, m)
		time.Sleep(time.Duration(k) * 2 * time.Millisecond)
		if k%2 == 0 {
			cancel() // the waiter has not noticed yet when the lock is released
		} else {
			go cancel()
		}
		r.unlock(holder)
		r.cancelled(r.answer(got))
		within(fmt.Sprintf("in round %d", k), func() { r.acquireRelease(3 - i) })
	}
}

// cancelled reports whether a waiter gave up. It releases a grant that came first.
func (r *fixture) cancelled(g grant) bool {
	if g.err == nil {
		r.unlock(g.lease)
		return false
	}
	if !errors.Is(g.err, context.Canceled) {
		fail("gave up with %w, not the context's error", g.err)
	}
	return true
}

// cancelMany makes waiters give up, some at their grant. All permits must remain.
func cancelMany(ctx context.Context, s Subject) {
	permits := max(1, s.Variant.Traits.Permits)
	n := atMost(s.Variant, 12)
	if most := s.Variant.Traits.MaxWorkers; n < 3 || most > 0 && most < permits+n {
		must(NotApplicable("too few to give up"))
	}
	inFixtureWithout(ctx, s, 0, func(r *fixture) {
		r.fill(permits+n, perClient)
		end := time.Now().Add(s.stress())
		for gaveUp, k := 0, 0; gaveUp < manyGiveUp || k < 4; k++ {
			within(fmt.Sprintf("after %d waits had been given up", gaveUp), func() { gaveUp += r.giveUpTogether(permits, k) })
			if gaveUp >= someGiveUp && k >= 4 && time.Now().After(end) {
				break
			}
		}
		countPermits(ctx, s, r.handles())
		if permits == 1 {
			r.gather()
		}
	})
}

// The abandoned waits, if the stress time allows, and at least.
const (
	manyGiveUp = 300
	someGiveUp = 64
)

// giveUpTogether makes all other workers wait for taken permits and give up, in every
// second round while the permits are released. It returns the number that gave up.
func (r *fixture) giveUpTogether(permits, round int) (left int) {
	var leases []harness.Lease
	for i := range permits {
		within(fmt.Sprintf("%d permits are taken", i), func() { leases = append(leases, r.lock(i)) })
	}
	racing := round%2 == 1
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	waits := make([]<-chan grant, 0, len(r.sessions))
	for i := permits; i < len(r.sessions); i++ {
		waits = append(waits, r.ask(ctx, i, writing))
	}
	time.Sleep(time.Duration(5+5*(round%4)) * time.Millisecond)
	release := func() {
		for _, l := range leases {
			r.unlock(l)
		}
	}
	if racing {
		time.AfterFunc(time.Duration(rand.Int64N(int64(4*time.Millisecond))), cancel)
		release()
	} else {
		cancel()
	}
	for _, w := range waits {
		switch gone := r.cancelled(r.answer(w)); {
		case gone:
			left++
		case !racing:
			fail("a waiter that gave up got a lock that was held")
		}
	}
	if !racing {
		release()
	}
	return left
}
