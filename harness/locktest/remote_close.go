package locktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"
)

const leakPatience = 5 * time.Second

func closeRemote(ctx context.Context, s Subject) error {
	// A warm-up: goroutines that a library starts once per process are no leak.
	if err := busyRoom(ctx, s); err != nil {
		return err
	}
	before, _, err := goroutines("")
	if err != nil {
		return err
	}
	key := "close " + rand.Text()
	if err := labelled(ctx, key, func() error { return busyRoom(ctx, s) }); err != nil {
		return err
	}
	return leaked(key, before)
}

// labelled runs f in a new goroutine with a label, which goroutines inherit, to identify them.
func labelled(ctx context.Context, key string, f func() error) error {
	done := make(chan error, 1)
	go func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels(label, key)))
		done <- recovered(f)
	}()
	return <-done
}

const label = "locktest"

// busyRoom uses everything that may start goroutines: leases, waiters, and closing sessions.
func busyRoom(ctx context.Context, s Subject) error {
	return inFixture(ctx, s, func(r *fixture) error {
		if err := r.fill(r.atMost(3), 2); err != nil {
			return err
		}
		n := len(r.sessions)
		lease, err := r.lock(0)
		if err != nil {
			return err
		}
		if n > 1 {
			short, cancel := context.WithTimeout(ctx, soon/10)
			defer cancel()
			if err := r.gaveUp(short, r.wait(short, n-1)); err != nil {
				return err
			}
		}
		if err := r.unlock(lease); err != nil {
			return err
		}
		for n = n - 1; n > 0; n-- {
			if err := r.sessions[0].Close(); err != nil {
				return fmt.Errorf("close of a session: %w", err)
			}
			r.sessions = r.sessions[1:]
			if err := r.acquireRelease(0); err != nil {
				return fmt.Errorf("after another session was closed: %w", err)
			}
		}
		return nil
	})
}

// leaked returns an error with the stacks of the goroutines of f in [labelled]: the labelled
// ones, and unlabelled ones beyond before, since timers start such.
func leaked(key string, before map[string]int) error {
	for deadline := time.Now().Add(leakPatience); ; time.Sleep(10 * time.Millisecond) {
		others, left, err := goroutines(key)
		if err != nil {
			return err
		}
		for stack, n := range others {
			if n > before[stack] {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			slices.Sort(left)
			return fmt.Errorf("goroutines are left %v after Close, in %d places, the first:\n%s", leakPatience, len(left), left[0])
		}
	}
}

func goroutines(key string) (bare map[string]int, own []string, err error) {
	var out bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		return nil, nil, err
	}
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
		case !strings.Contains(stack, "testing.tRunner"):
			bare[stack] += n
		}
	}
	return bare, own, nil
}
