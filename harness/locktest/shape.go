package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"locklab/harness"
)

type shape struct {
	workers int
	wait    harness.WaitPolicy
	pin     harness.Pin
	per     int // workers of each client of a distributed lock
}

func (sh shape) String() string {
	if sh.per > 0 {
		return fmt.Sprintf("workers=%d per-client=%d", sh.workers, sh.per)
	}
	return fmt.Sprintf("workers=%d wait=%s pin=%s", sh.workers, sh.wait, sh.pin)
}

// shapes returns the ways to drive v: worker counts, workers locked to their threads, and
// every policy of a polling lock. Busy waiters need a processor each. Workers of a distributed
// lock have a client each, or share it with another.
func shapes(v *harness.Variant) []shape {
	if isRemote(v) {
		out := []shape{{workers: 1, per: 1}}
		if n := atMost(v, 4); n > 1 {
			out = append(out, shape{workers: n, per: 1}, shape{workers: n, per: 2})
		}
		return out
	}
	var out []shape
	add := func(workers int, wait harness.WaitPolicy, pin harness.Pin) {
		if sh := (shape{workers: atMost(v, workers), wait: wait, pin: pin}); !slices.Contains(out, sh) {
			out = append(out, sh)
		}
	}
	for _, n := range []int{1, 2, 4, 8} {
		add(n, harness.WaitAdaptive, harness.PinNone)
	}
	add(2, harness.WaitAdaptive, harness.PinThread)
	if v.Family == harness.Spin {
		add(min(2, runtime.GOMAXPROCS(0)), harness.WaitSpin, harness.PinNone)
		add(4, harness.WaitPause, harness.PinNone)
		add(4, harness.WaitYield, harness.PinNone)
		add(4, harness.WaitSchedYield, harness.PinThread)
		add(4, harness.WaitPark, harness.PinNone)
	}
	return out
}

func spare(v *harness.Variant) int { return max(0, v.Traits.Permits-1) }

func atMost(v *harness.Variant, n int) int {
	if most := v.Traits.MaxWorkers; most > 0 {
		return max(1, min(n, most-spare(v)))
	}
	return n
}

// handles returns a new lock's handles, one per worker, with all permits but one taken.
func (sh shape) handles(ctx context.Context, s Subject) []sync.Locker {
	hs := sh.all(ctx, s, sh.workers+spare(s.Variant))
	own, taken := hs[:sh.workers], hs[sh.workers:]
	if len(taken) > 0 {
		alone(ctx, s, permitsLeft, func() {
			for _, h := range taken {
				h.Lock()
			}
		})
	}
	return own
}

const (
	isFree      = "a free lock does not open: Lock has not returned"
	permitsLeft = "there are permits left, but Lock has not returned"
)

// all returns a new lock's handles for n workers.
func (sh shape) all(ctx context.Context, s Subject, n int) []sync.Locker {
	if isRemote(s.Variant) {
		r := newFixture(ctx, s)
		s.check.fixtures = append(s.check.fixtures, r)
		r.fill(n, max(1, sh.per))
		return r.handles()
	}
	var nodes []int // none for 8, 16, 24 ... workers; else two, for a lock that treats workers of its node differently
	for i := range n {
		if n%8 > 0 {
			nodes = append(nodes, i%2)
		}
	}
	l := s.Variant.Local(harness.Setup{Workers: n, Wait: sh.wait, Pin: sh.pin, Nodes: nodes})
	hs := make([]sync.Locker, n)
	for i := range hs {
		hs[i] = l.Worker(i)
	}
	return hs
}

// A rig is workers of a new lock, local or distributed.
type rig struct {
	hs     []sync.Locker
	remote bool
	p      *pattern
	lim    limits
}

func (r *rig) drive(ctx context.Context, use func(ctx context.Context, i int)) []uint64 {
	return drive(ctx, len(r.hs), r.lim, use)
}

func (r *rig) visit(i int, stay func()) {
	r.hs[i].Lock()
	stay()
	r.hs[i].Unlock()
	r.p.think(i)
}

// hold passes time inside. Distributed locks are sometimes held for 2 ms, so that others
// request a held lock.
func (r *rig) hold(i int) {
	if !r.remote {
		r.p.hold(i)
		return
	}
	w := &r.p.workers[i]
	if w.uses++; w.uses%4 == 0 {
		time.Sleep(2 * time.Millisecond)
	}
}

// eachShape leaves the limits' end to check.
func eachShape(ctx context.Context, s Subject, check func(r *rig)) {
	for _, sh := range shapes(s.Variant) {
		sh.once(ctx, s, limits{}, false, check)
	}
}

func (sh shape) once(ctx context.Context, s Subject, lim limits, thinks bool, check func(r *rig)) {
	within(sh, func() {
		lim.patience, lim.interrupt, lim.threads = s.patience(), s.check.interrupt, sh.pin != harness.PinNone
		check(&rig{hs: sh.handles(ctx, s), remote: isRemote(s.Variant), p: newPattern(sh.workers, thinks), lim: lim})
	})
}

// eachRound divides the stress time among shapes and rounds, each with a new lock and
// goroutines: most races appear soon after a start. Every other round has pauses, since a
// queue that is never empty hides faults. A distributed lock has one round of each shape, which
// takes all of the stress time.
func eachRound(ctx context.Context, s Subject, check func(r *rig)) {
	roundsOf(ctx, s, shapes(s.Variant), check)
}

func roundsOf(ctx context.Context, s Subject, all []shape, check func(r *rig)) {
	share := s.stress() / time.Duration(len(all))
	window := max(share/10, 4*time.Millisecond)
	for _, sh := range all {
		end := time.Now().Add(share)
		lim := limits{window: window}
		switch {
		case isRemote(s.Variant):
			end, lim.window = time.Now(), s.stress()
		case sh.workers == 1: // no contention, nothing to find by chance
			end, lim.window = time.Now(), time.Millisecond
		}
		for round := 0; round == 0 || time.Now().Before(end); round++ {
			sh.once(ctx, s, lim, round%2 == 1, check)
		}
	}
}

func alone(ctx context.Context, s Subject, stuck string, steps func()) {
	notStuck(stuck, func() {
		drive(ctx, 1, s.limits(1), func(context.Context, int) { steps() })
	})
}

func notStuck(why string, f func()) {
	err := recovered(f)
	if stuck, ok := errors.AsType[*stuckError](err); ok {
		err = fmt.Errorf("%s for %v: a worker %w", why, stuck.patience, errNoGrant)
	}
	must(err)
}

// aMoment is how long a check of a local lock waits to see that something does not happen.
const aMoment = 5 * time.Millisecond

// shutOut checks that enter returns only after leave, called after a moment. It returns once
// both have, or fails with what.
func shutOut(ctx context.Context, s Subject, what string, enter, leave func()) {
	entered, moment := make(chan struct{}), aMoment
	if isRemote(s.Variant) {
		moment = soon
	}
	drive(ctx, 2, s.limits(1), func(_ context.Context, i int) {
		if i == 1 {
			enter()
			close(entered)
			return
		}
		early := opens(entered, moment)
		leave()
		if early {
			must(errors.New(what))
		}
	})
}

func opens(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return false
	}
}
