package locktest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"locklab/harness"
)

// contenderCounts are odd and even, and on both sides of common sizes of arrays and of a byte.
var contenderCounts = []int{3, 5, 9, 13, 17, 33, 65, 130, 300}

// sleepingPolicies leaves out busy waiters, which keep the holder from running.
func sleepingPolicies(v *harness.Variant) []harness.WaitPolicy {
	if v.Family == harness.Spin {
		return []harness.WaitPolicy{harness.WaitAdaptive, harness.WaitYield, harness.WaitPark}
	}
	return []harness.WaitPolicy{harness.WaitAdaptive}
}

// eachCount runs check with growing numbers, the largest only if the others were quick.
func eachCount(s Subject, check func(sh shape)) {
	const always = 33
	start := time.Now()
	for _, sh := range countShapes(s.Variant) {
		if sh.workers > always && time.Since(start) > 5*s.stress() {
			return
		}
		within(sh, func() { check(sh) })
	}
}

func countShapes(v *harness.Variant) []shape {
	var out []shape
	for _, n := range contenderCounts {
		for _, wait := range sleepingPolicies(v) {
			if wait == harness.WaitYield && n > 65 {
				continue // each handover then takes a yield of all the others
			}
			if sh := (shape{workers: atMost(v, n), wait: wait}); sh.workers > 1 && !slices.Contains(out, sh) {
				out = append(out, sh)
			}
		}
	}
	return out
}

func (sh shape) gather(ctx context.Context, s Subject, rounds int) *gathering {
	hs := sh.handles(ctx, s)
	return &gathering{hs: hs, rounds: rounds, reads: sharesReads(s, hs), inside: new(rwInside)}
}

// sharesReads reports whether the handles of a lock that claims readers have RLock.
func sharesReads(s Subject, hs []sync.Locker) bool {
	_, rw := hs[0].(harness.RWLocker)
	return rw && s.Variant.Traits.ReadWrite
}

func contendersLocal(ctx context.Context, s Subject) {
	eachCount(s, func(sh shape) {
		rounds := 8
		if sh.workers > 17 {
			rounds = 4 // each kind of round for a lock with readers
		}
		sh.gather(ctx, s, rounds).run(ctx, s)
	})
}

// wakeUpLocal makes waiters sleep for different times, and releases meet one about to sleep.
func wakeUpLocal(ctx context.Context, s Subject) {
	for _, wait := range sleepingPolicies(s.Variant) {
		if wait == harness.WaitYield {
			continue // no sleep
		}
		sleepers{workers: 2, rounds: 1 << 12, hold: shortHold}.run(ctx, s, wait)
		if wait == harness.WaitPark {
			continue // below there are more workers than processors, which sleep by either policy
		}
		for _, sl := range []sleepers{
			{workers: 4, rounds: 1 << 11, hold: shortHold},
			{workers: 17, rounds: 1 << 11, hold: func(int) { time.Sleep(50 * time.Microsecond) }},
			{workers: 4, rounds: 1 << 17, hold: shortHold, readers: true},
		} {
			sl.run(ctx, s, wait)
		}
		atOnce([]int{1, 4, 16, 60}, func(ms int) {
			sleepers{workers: 4, rounds: 60 / ms, hold: func(int) { time.Sleep(time.Duration(ms) * time.Millisecond) }}.run(ctx, s, wait)
		})
	}
}

// shortHold is roughly the time after which a waiter falls asleep: mostly below 2 µs, and
// ten times that in every eighth round.
func shortHold(round int) {
	n := uint32(round) * 2654435761 >> 19
	if round%8 == 7 {
		n *= 10
	}
	for range n {
	}
}

type sleepers struct {
	workers, rounds int
	hold            func(round int)
	readers         bool // readers, if any, hold the lock and leave together
}

func (sl sleepers) run(ctx context.Context, s Subject, wait harness.WaitPolicy) {
	sh := shape{workers: atMost(s.Variant, sl.workers), wait: wait}
	if sh.workers < 2 {
		return
	}
	within(sh, func() {
		g := sh.gather(ctx, s, sl.rounds)
		if sl.readers && !g.reads {
			return
		}
		g.shared = sl.readers
		g.hold, g.until = sl.hold, time.Now().Add(s.stress()/4)
		g.run(ctx, s)
	})
}

// A remote acquisition takes milliseconds, so these checks use hundreds instead of 10^5. Not
// covered are counters of more than eight bits, and faults rarer than one in a hundred.
const (
	throngs      = 20 // simultaneous waiters
	throngRounds = 3
	perClient    = 7 // workers of each client
)

// queueOf returns the number of workers for a check of a queue, at most n.
func queueOf(s Subject, n int) int {
	if n = atMost(s.Variant, n); n < 2 {
		must(NotApplicable("no queue to speak of: the lock serves one worker"))
	}
	return n
}

// contendersRemote makes more workers wait than a lock may have been designed for: they ask
// while it is held, and no worker asks twice before all have had it.
func contendersRemote(ctx context.Context, s Subject) {
	n := queueOf(s, throngs)
	inFixture(ctx, s, func(r *fixture) {
		r.fill(n, perClient)
		_, rw := r.sessions[0].(harness.RWSession)
		for range throngRounds {
			r.gather(soon/4, false)
			if rw && s.Variant.Traits.ReadWrite {
				r.gather(soon/4, true)
			}
		}
	})
}

// gather makes all workers ask while one holds the lock.
func (r *fixture) gather(hold time.Duration, readers bool) {
	order := rand.Perm(len(r.sessions))
	var a rwInside
	held := make(chan struct{})
	drive(r.ctx, len(order), limits{uses: 1, patience: r.s.patience() + hold}, func(ctx context.Context, i int) {
		p := order[i]
		m := mode(readers && p%3 != 0)
		if p > 0 {
			await(ctx, held)
		}
		lease, err := r.enter(ctx, i, m)
		if err != nil {
			fail("worker %d: %v: %w", i, m, err)
		}
		stay := func() {
			if p == 0 {
				close(held)
				time.Sleep(hold)
			}
		}
		visit := a.write
		if m == reading {
			visit = a.read
		}
		must(errors.Join(visit(i, stay), recovered(func() { r.leave(lease) })))
	})
}

// wakeUpRemote makes one waiter, and then three of several clients, wait for a long time,
// with no other worker that could make up for a lost message.
func wakeUpRemote(ctx context.Context, s Subject) {
	atOnce([]int{2, queueOf(s, 4)}, func(n int) {
		inFixture(ctx, s, func(r *fixture) {
			r.fill(n, 2)
			end := time.Now().Add(s.stress())
			for k := 0; k < 20 || k < 100 && time.Now().Before(end); k++ {
				r.gather(time.Duration(k%8)*time.Millisecond, false)
			}
			r.gather(2*soon, false)
		})
	})
}
