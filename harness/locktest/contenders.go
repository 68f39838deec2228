package locktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"locklab/harness"
)

// contenderCounts are common sizes of arrays, one more than them, and more than a byte.
var contenderCounts = []int{3, 5, 9, 16, 17, 32, 33, 64, 65, 128, 300}

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
	if isRemote(v) {
		return []shape{{workers: atMost(v, throngs), per: perClient}}
	}
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
	return &gathering{hs: hs, rounds: rounds, reads: sharesReads(s, hs), inside: new(inside)}
}

func sharesReads(s Subject, hs []sync.Locker) bool {
	_, rw := hs[0].(harness.RWLocker)
	return rw && s.Variant.Traits.ReadWrite
}

// contenders makes more workers wait than a lock may have been designed for: they ask while it is
// held, and no worker asks twice before all have had it.
func contenders(ctx context.Context, s Subject) {
	eachCount(s, func(sh shape) {
		needQueue(sh)
		rounds := 8
		if sh.workers > 17 {
			rounds = 4 // each kind of round for a lock with readers
		}
		g := sh.gather(ctx, s, rounds)
		if isRemote(s.Variant) {
			g.hold = func(int) { time.Sleep(soon / 4) }
		}
		g.run(ctx, s)
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
	throngs   = 20 // simultaneous waiters
	perClient = 7  // workers of each client
)

func needQueue(sh shape) {
	if sh.workers < 2 {
		must(NotApplicable("no queue: the lock serves one worker"))
	}
}

// wakeUpRemote makes one waiter, and then three of several clients, wait for a long time,
// with no other worker that could make up for a lost message.
func wakeUpRemote(ctx context.Context, s Subject) {
	const rounds = 24
	for _, n := range []int{2, 4} {
		sh := shape{workers: atMost(s.Variant, n), per: 2}
		needQueue(sh)
		within(sh, func() {
			g := sh.gather(ctx, s, rounds)
			g.reads = false
			g.hold = func(round int) {
				if round == rounds-1 {
					time.Sleep(2 * soon)
				}
				time.Sleep(time.Duration(round%8) * time.Millisecond)
			}
			g.run(ctx, s)
		})
	}
}

func (r *fixture) gather() {
	g := &gathering{hs: r.handles(), rounds: 1, inside: new(inside)}
	g.hold = func(int) { time.Sleep(soon / 8) }
	g.run(r.ctx, r.s)
}
