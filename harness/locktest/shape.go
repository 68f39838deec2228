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
}

func (sh shape) String() string {
	return fmt.Sprintf("workers=%d wait=%s pin=%s", sh.workers, sh.wait, sh.pin)
}

// shapes returns the ways to drive v: worker counts, workers locked to their threads, and
// every policy of a polling lock. Busy waiters need a processor each.
func shapes(v *harness.Variant) []shape {
	var out []shape
	add := func(workers int, wait harness.WaitPolicy, pin harness.Pin) {
		if sh := (shape{atMost(v, workers), wait, pin}); !slices.Contains(out, sh) {
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
func (sh shape) handles(ctx context.Context, s Subject) ([]sync.Locker, error) {
	hs := sh.all(s.Variant, sh.workers+spare(s.Variant))
	own, taken := hs[:sh.workers], hs[sh.workers:]
	if len(taken) == 0 {
		return own, nil
	}
	return own, alone(ctx, s, "there are permits left, but Lock has not returned", func() error {
		for _, h := range taken {
			h.Lock()
		}
		return nil
	})
}

func (sh shape) all(v *harness.Variant, n int) []sync.Locker {
	nodes := make([]int, n) // two, for a lock that treats workers of its node differently
	for i := range nodes {
		nodes[i] = i % 2
	}
	l := v.Local(harness.Setup{Workers: n, Wait: sh.wait, Pin: sh.pin, Nodes: nodes})
	hs := make([]sync.Locker, n)
	for i := range hs {
		hs[i] = l.Worker(i)
	}
	return hs
}

type rig struct {
	hs  []sync.Locker
	p   *pace
	lim limits
}

func (r *rig) drive(ctx context.Context, use func(i int) error) ([]uint64, error) {
	return drive(ctx, len(r.hs), r.lim, func(_ context.Context, i int) error { return use(i) })
}

// eachShape runs check, which sets the limits' end, on a new lock of every shape.
func eachShape(ctx context.Context, s Subject, check func(ctx context.Context, r *rig) error) error {
	for _, sh := range shapes(s.Variant) {
		if err := sh.once(ctx, s, limits{}, false, check); err != nil {
			return err
		}
	}
	return nil
}

func (sh shape) once(ctx context.Context, s Subject, lim limits, thinks bool, check func(ctx context.Context, r *rig) error) error {
	hs, err := sh.handles(ctx, s)
	if err == nil {
		lim.patience, lim.threads = s.patience(), sh.pin != harness.PinNone
		err = check(ctx, &rig{hs, newPace(sh.workers, thinks), lim})
	}
	if err != nil {
		return fmt.Errorf("%v: %w", sh, err)
	}
	return nil
}

// eachRound divides the stress time among shapes and rounds, each with a new lock and
// goroutines: most races appear soon after a start. Every other round has pauses, since a
// queue that is never empty hides faults.
func eachRound(ctx context.Context, s Subject, check func(ctx context.Context, r *rig) error) error {
	return roundsOf(ctx, s, shapes(s.Variant), check)
}

func roundsOf(ctx context.Context, s Subject, all []shape, check func(ctx context.Context, r *rig) error) error {
	share := s.stress() / time.Duration(len(all))
	window := max(share/10, 4*time.Millisecond)
	for _, sh := range all {
		end := time.Now().Add(share)
		lim := limits{window: window}
		if sh.workers == 1 { // no contention, nothing to find by chance
			end, lim.window = time.Now(), time.Millisecond
		}
		for round := 0; round == 0 || time.Now().Before(end); round++ {
			if err := sh.once(ctx, s, lim, round%2 == 1, check); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone runs steps in a goroutine. Without contention, a waiting step fails as stuck explains.
func alone(ctx context.Context, s Subject, stuck string, steps func() error) error {
	_, err := drive(ctx, 1, limits{uses: 1, patience: s.patience()}, func(context.Context, int) error { return steps() })
	return notStuck(err, stuck)
}

func notStuck(err error, why string) error {
	var stuck *stuckError
	if errors.As(err, &stuck) {
		return fmt.Errorf("%s for %v", why, stuck.patience)
	}
	return err
}

// aMoment is how long a check of a local lock waits to see that something does not happen.
const aMoment = 5 * time.Millisecond

// shutOut checks that enter returns only after leave, called after a moment. It returns once
// both have, or with an error that begins with what.
func shutOut(ctx context.Context, s Subject, what string, enter, leave func()) error {
	entered := make(chan struct{})
	_, err := drive(ctx, 2, limits{uses: 1, patience: s.patience()}, func(_ context.Context, i int) error {
		if i == 1 {
			enter()
			close(entered)
			return nil
		}
		var err error
		select {
		case <-entered:
			err = errors.New(what)
		case <-time.After(aMoment):
		}
		leave()
		return err
	})
	return err
}
