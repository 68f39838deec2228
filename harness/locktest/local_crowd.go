package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/harness"
)

// crowdSizes are odd and even, and on both sides of common sizes of arrays and of a byte.
var crowdSizes = []int{3, 5, 9, 13, 17, 33, 65, 130, 300}

// crowdPolicies leaves out busy waiters, which keep the holder from running.
func crowdPolicies(v *harness.Variant) []harness.WaitPolicy {
	if v.Family == harness.Spin {
		return []harness.WaitPolicy{harness.WaitAdaptive, harness.WaitYield, harness.WaitPark}
	}
	return []harness.WaitPolicy{harness.WaitAdaptive}
}

// eachCrowdShape runs check with growing crowds, the largest only if the others were quick.
func eachCrowdShape(s Subject, check func(sh shape) error) error {
	const always = 33
	start := time.Now()
	for _, sh := range crowdShapes(s.Variant) {
		if sh.workers > always && time.Since(start) > 5*s.stress() {
			return nil
		}
		if err := check(sh); err != nil {
			return fmt.Errorf("%v: %w", sh, err)
		}
	}
	return nil
}

func crowdShapes(v *harness.Variant) []shape {
	var out []shape
	for _, n := range crowdSizes {
		for _, wait := range crowdPolicies(v) {
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

func (sh shape) gather(ctx context.Context, s Subject, rounds int) (*gathering, error) {
	hs, err := sh.handles(ctx, s)
	if err != nil {
		return nil, err
	}
	_, rw := hs[0].(harness.RWLocker)
	return &gathering{hs: hs, rounds: rounds, reads: rw && s.Variant.Traits.ReadWrite, inside: new(rwInside)}, nil
}

func crowdLocal(ctx context.Context, s Subject) error {
	return eachCrowdShape(s, func(sh shape) error {
		rounds := 8
		if sh.workers > 17 {
			rounds = 4 // each kind of round for a lock with readers
		}
		g, err := sh.gather(ctx, s, rounds)
		if err != nil {
			return err
		}
		return g.run(ctx, s)
	})
}

// wakeUpLocal makes waiters sleep for different times, and releases meet one about to sleep.
func wakeUpLocal(ctx context.Context, s Subject) error {
	for _, wait := range crowdPolicies(s.Variant) {
		if wait == harness.WaitYield {
			continue // no sleep
		}
		if err := (sleepers{workers: 2, rounds: 1 << 12, hold: shortHold}).run(ctx, s, wait); err != nil {
			return err
		}
		if wait == harness.WaitPark {
			continue // below there are more workers than processors, which sleep by either policy
		}
		for _, sl := range []sleepers{
			{workers: 4, rounds: 1 << 11, hold: shortHold},
			{workers: 17, rounds: 1 << 11, hold: func(int) { time.Sleep(50 * time.Microsecond) }},
			{workers: 4, rounds: 1 << 17, hold: shortHold, readers: true},
		} {
			if err := sl.run(ctx, s, wait); err != nil {
				return err
			}
		}
		if err := sleepLong(ctx, s, wait); err != nil {
			return err
		}
	}
	return nil
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

var longHolds = []time.Duration{time.Millisecond, 4 * time.Millisecond, 16 * time.Millisecond, 60 * time.Millisecond}

func sleepLong(ctx context.Context, s Subject, wait harness.WaitPolicy) error {
	errs := make([]error, len(longHolds))
	var wg sync.WaitGroup
	for k, d := range longHolds {
		wg.Go(func() {
			rounds := int(longHolds[len(longHolds)-1] / d)
			errs[k] = sleepers{workers: 4, rounds: rounds, hold: func(int) { time.Sleep(d) }}.run(ctx, s, wait)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type sleepers struct {
	workers, rounds int
	hold            func(round int)
	readers         bool // readers, if any, hold the lock and leave together
}

func (sl sleepers) run(ctx context.Context, s Subject, wait harness.WaitPolicy) error {
	sh := shape{workers: atMost(s.Variant, sl.workers), wait: wait}
	if sh.workers < 2 {
		return nil
	}
	g, err := sh.gather(ctx, s, sl.rounds)
	if err == nil && sl.readers && !g.reads {
		return nil
	}
	if err == nil {
		g.shared = sl.readers
		g.hold, g.until = sl.hold, time.Now().Add(s.stress()/4)
		err = g.run(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", sh, err)
	}
	return nil
}
