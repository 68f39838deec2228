package locktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

func checkOwner(ctx context.Context, s Subject) {
	// The next holder may be in another client, in the same, or the same worker.
	atOnce([]int{2, 1, 0}, func(next int) {
		inCompany(ctx, s, func(r *fixture) {
			stale := r.lock(0)
			r.unlock(stale)
			r.refused(stale, "a released lease while the lock is free")
			lease := r.lock(next)
			r.refused(stale, fmt.Sprintf("a stale lease while worker %d holds the lock", next))
			within("after Unlock of a stale lease", func() {
				r.keptOut((next+1)%3, writing)
				alive(lease)
			})
			r.unlock(lease)
		})
	})
}

func (r *fixture) refused(l harness.Lease, what string) {
	ctx, cancel := r.patient()
	defer cancel()
	switch err := l.Unlock(ctx); {
	case err == nil:
		fail("the Unlock of %s returned nil", what)
	case !errors.Is(err, harness.ErrNotHeld):
		fail("the Unlock of %s returned %w, which does not wrap ErrNotHeld", what, err)
	}
}

func unlockCancelled(ctx context.Context, s Subject) {
	inCompany(ctx, s, func(r *fixture) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		past, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
		defer cancel()
		for _, end := range []context.Context{over, past} {
			within(fmt.Sprintf("Unlock under a context that has ended (%v)", end.Err()), func() {
				must(r.lock(0).Unlock(end))
				for _, i := range []int{2, 1} {
					r.acquireRelease(i)
				}
			})
		}
	})
}

func checkLease(ctx context.Context, s Subject) {
	inFixture(ctx, s, func(r *fixture) {
		r.fill(atMost(s.Variant, 2), 2)
		for _, i := range []int{0, len(r.sessions) - 1, 0} {
			r.leave(r.lock(i))
		}
	})
}

func (r *fixture) leave(l harness.Lease) {
	alive(l)
	r.unlock(l)
	r.ended(l)
}

func alive(l harness.Lease) {
	if err := l.Err(); err != nil {
		fail("a lease that holds the lock has Err %w, want nil", err)
	}
	select {
	case <-l.Done():
		fail("a lease that holds the lock has Done closed")
	default:
	}
	if until, ok := l.Deadline(); ok && !until.After(time.Now()) {
		fail("a new lease has a Deadline %v ago", time.Since(until))
	}
}

func (r *fixture) ended(l harness.Lease) {
	if !opens(l.Done(), r.s.patience()) {
		fail("a released lease has Done open")
	}
	if err := l.Err(); !errors.Is(err, harness.ErrReleased) {
		fail("a released lease has Err %v, want ErrReleased", err)
	}
}

func checkReadLease(ctx context.Context, s Subject) {
	mustRead(shape{workers: 1}.handles(ctx, s)[0])
	inCompany(ctx, s, func(r *fixture) {
		first, second := r.get(0, reading), r.get(1, reading)
		alive(first)
		over, cancel := context.WithCancel(ctx)
		cancel()
		if err := first.Unlock(over); err != nil {
			fail("a reader's Unlock under a context that has ended: %w", err)
		}
		r.ended(first)
		r.refused(first, "a reader's released lease while another reads")
		within("a reader is inside, after another's second Unlock", func() {
			alive(second)
			r.keptOut(2, writing)
		})
		r.unlock(second)
		for _, i := range []int{2, 0} { // of another client, and the same worker
			writer := r.get(i, writing)
			r.refused(first, "a reader's released lease while a writer holds the lock")
			within("a writer is inside, after Unlock of a reader's stale lease", func() { r.keptOut(1, reading) })
			r.unlock(writer)
		}
		r.free()
	})
}

func closes(ctx context.Context, s Subject) {
	// A warm-up: goroutines that a library starts once per process are no leak.
	useBriefly(ctx, s)
	before, _ := goroutines("")
	key := "close " + rand.Text()
	must(labelled(ctx, key, func() { useBriefly(ctx, s) }))
	leaked(key, before, s.patience())
}

// labelled identifies goroutines: they inherit the label.
func labelled(ctx context.Context, key string, f func()) error {
	done := make(chan error, 1)
	go func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels(label, key)))
		done <- recovered(f)
	}()
	return <-done
}

const label = "locktest"

// useBriefly uses everything that may start goroutines: leases, waiters, and closing sessions.
func useBriefly(ctx context.Context, s Subject) {
	inFixture(ctx, s, func(r *fixture) {
		r.fill(atMost(s.Variant, 3), 2)
		n := len(r.sessions)
		lease := r.lock(0)
		if n > 1 {
			short, cancel := context.WithTimeout(ctx, soon/10)
			defer cancel()
			r.gaveUp(short, r.ask(short, n-1, writing))
		}
		r.unlock(lease)
		for n = n - 1; n > 0; n-- {
			if err := r.sessions[0].Close(); err != nil {
				fail("close of a session: %w", err)
			}
			r.sessions = r.sessions[1:]
			within("after another session was closed", func() { r.acquireRelease(0) })
		}
	})
}

// leaked fails with the stacks of the goroutines of f in [labelled]: the labelled ones, and
// unlabelled ones beyond before, since timers start such.
func leaked(key string, before map[string]int, patience time.Duration) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		others, left := goroutines(key)
		for stack, n := range others {
			if n > before[stack] {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			slices.Sort(left)
			fail("goroutines are left %v after Close, in %d places, the first:\n%s", patience, len(left), left[0])
		}
	}
}

func goroutines(key string) (bare map[string]int, own []string) {
	var out bytes.Buffer
	must(pprof.Lookup("goroutine").WriteTo(&out, 1))
	bare = make(map[string]int)
	mine := fmt.Sprintf("%q:%q", label, key)
	_, places, _ := strings.Cut(out.String(), "\n") // after the head
	for place := range strings.SplitSeq(places, "\n\n") {
		// "2 @ 0x43e0ee 0x44f2b1", perhaps "# labels: {…}", and the stack
		count, stack, _ := strings.Cut(place, " ")
		n, err := strconv.Atoi(count)
		switch {
		case err != nil: // the end
		case strings.Contains(stack, "# labels: "):
			if strings.Contains(stack, mine) {
				own = append(own, stack)
			}
		case strings.Contains(stack, "testing.tRunner"), strings.Contains(stack, "os/exec."): // another test, or a server that it has started
		default:
			bare[stack] += n
		}
	}
	return bare, own
}
