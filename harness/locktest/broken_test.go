//go:build !race

package locktest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// defaultTries is the number of consecutive rejections required of each broken lock,
// unless LOCKLAB_TRIES overrides it, as in make prove-locktest.
const defaultTries = 3

func triesOf(t *testing.T) int {
	text, ok := os.LookupEnv("LOCKLAB_TRIES")
	if !ok {
		return defaultTries
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("LOCKLAB_TRIES=%q: want a number of tries, from 1", text)
	}
	return n
}

// persistence is the stress time of a try, which ends with the first failure.
const persistence = time.Minute

// hasty is the patience for a lock that must be found stuck, and stays stuck.
const hasty = 100 * time.Millisecond

func (b breakage) patience() time.Duration {
	if b.stuck {
		return hasty
	}
	return DefaultPatience
}

func rule(t *testing.T, name string) Rule {
	t.Helper()
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no rule %q", name)
	}
	return Rules[i]
}

func TestBrokenLocalIsRejected(t *testing.T) {
	n := triesOf(t)
	for _, b := range breakages {
		t.Run(b.name+"/"+b.rule, func(t *testing.T) {
			r := rule(t, b.rule)
			together := 1
			if !b.chance { // much time is spent waiting
				t.Parallel()
				together = 5
			}
			start := time.Now()
			rejected, last := b.tryAgain(t.Context(), r, n, together)
			t.Logf("rejected %d of %d, %v each; the last: %v", rejected, n, time.Since(start)/time.Duration(n), last)
			if rejected != n {
				t.Errorf("%q was rejected for breaking %q only %d times of %d", b.name, b.rule, rejected, n)
			}
		})
	}
}

// tryAgain tries n times, `together` at a time, and returns the number of rejections of b
// and the last failure.
func (b breakage) tryAgain(ctx context.Context, r Rule, n, together int) (rejected int, last error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(together)
	for range n {
		group.Go(func() error {
			err := b.try(ctx, r, persistence)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				rejected++
				last = err
			}
			return nil
		})
	}
	_ = group.Wait() // no error: the counts show failures
	return rejected, last
}

func (b breakage) try(ctx context.Context, r Rule, stress time.Duration) error {
	v, q := b.variant()
	defer q.quit.Store(true)
	err := r.apply(ctx, Subject{Variant: v, Stress: stress, Patience: b.patience()})
	if f, failed := errors.AsType[*Failure](err); failed && r.Applies(v) && f.Rule.Name == r.Name {
		return f
	}
	return nil
}

func TestCorrectIsAccepted(t *testing.T) {
	for _, b := range correct {
		t.Run(b.name, func(t *testing.T) {
			v, q := b.variant()
			defer q.quit.Store(true)
			if err := Check(t.Context(), Subject{Variant: v, Stress: DefaultStress / 3}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryRuleRejectsSomething(t *testing.T) {
	caught := make(map[string]bool)
	for _, b := range breakages {
		caught[b.rule] = true
	}
	for _, f := range faults {
		caught[f.rule] = true
	}
	for _, r := range Rules {
		if !caught[r.Name] {
			t.Errorf("no broken lock shows that rule %q can fail", r.Name)
		}
	}
}

// remotePatience limits the time for a lock that is stuck on purpose: see [hasty].
func remotePatience(rule string) time.Duration {
	switch rule {
	case "exclusion", "lost-update", "fifo", "fencing":
		return DefaultPatience
	}
	return time.Second
}

func TestBrokenRemoteIsRejected(t *testing.T) {
	var group errgroup.Group
	group.SetLimit(8) // more than there are processors: they mostly wait
	defer group.Wait()
	for _, f := range faults {
		group.Go(func() error {
			t.Run(string(f.fault), func(t *testing.T) {
				m := newMemoryServer(f.fault, f.claims)
				defer close(m.quit)
				err := rule(t, f.rule).apply(t.Context(), Subject{Variant: m.variant(), Patience: remotePatience(f.rule)})
				if broken, ok := errors.AsType[*Failure](err); !ok || broken.Rule.Name != f.rule {
					t.Fatalf("rule %q does not reject it: %v", f.rule, err)
				}
				t.Log(err)
			})
			return nil
		})
	}
}

// TestStressFindsTheRare: with the environment's time the rules of make stress reject the
// lock.
func TestStressFindsTheRare(t *testing.T) {
	stress, err := stressFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if stress == 0 {
		t.Skip(StressEnv + " says how long to try: make stress sets it")
	}
	b := breakage{name: "seldom", local: shareLock(func(q *quitter) sync.Locker {
		return &loadThenStore{brokenTAS: brokenTAS{q: q}, every: 5000}
	})}
	const most = 20 // for a machine that is busy with other things
	for run := range most {
		for _, name := range []string{"lost-update", "preemption"} {
			if err := b.try(t.Context(), rule(t, name), stress); err != nil {
				t.Logf("rejected in run %d of %v: %v", 1+run, stress, err)
				return
			}
		}
	}
	t.Errorf("in none of %d runs of %v a rule rejects a lock that fails seldom: a longer %s", most, stress, StressEnv)
}
