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

func closes(ctx context.Context, s Subject) {
	// A warm-up: goroutines that a library starts once per process are no leak.
	useBriefly(ctx, s)
	before, _ := goroutines("")
	key := "close " + rand.Text()
	must(labelled(ctx, key, func() { useBriefly(ctx, s) }))
	leaked(key, before)
}

// labelled runs f in a new goroutine with a label, which goroutines inherit, to identify them.
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
		r.fill(r.atMost(3), 2)
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
func leaked(key string, before map[string]int) {
	for deadline := time.Now().Add(leakPatience); ; time.Sleep(10 * time.Millisecond) {
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
			fail("goroutines are left %v after Close, in %d places, the first:\n%s", leakPatience, len(left), left[0])
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
		case !strings.Contains(stack, "testing.tRunner"):
			bare[stack] += n
		}
	}
	return bare, own
}
