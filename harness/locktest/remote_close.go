package locktest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// leakPatience is how long goroutines that have been told to end may take.
const leakPatience = 5 * time.Second

func closeRemote(ctx context.Context, s Subject) error {
	// Once to warm up: what a library starts once for the whole process is no leak.
	if err := busyRoom(ctx, s); err != nil {
		return err
	}
	before := goroutines()
	if err := busyRoom(ctx, s); err != nil {
		return err
	}
	return leaked(before)
}

// busyRoom uses everything that may start goroutines: leases, waiters, waiters
// that give up, and sessions that close while others go on.
func busyRoom(ctx context.Context, s Subject) error {
	return inRoom(ctx, s, func(r *room) error {
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
			if err := r.turn(0); err != nil {
				return fmt.Errorf("after another session was closed: %w", err)
			}
		}
		return nil
	})
}

// leaked returns an error with the stacks of the goroutines that were not there
// before and do not go away.
func leaked(before map[string]string) error {
	for deadline := time.Now().Add(leakPatience); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		for id, stack := range goroutines() {
			if _, old := before[id]; !old {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			slices.Sort(left)
			return fmt.Errorf("%d goroutines are left %v after Close, the first:\n%s", len(left), leakPatience, left[0])
		}
	}
}

// goroutines returns the stack of every goroutine by its number.
func goroutines() map[string]string {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	out := make(map[string]string)
	for stack := range bytes.SplitSeq(buf[:n], []byte("\n\n")) {
		// "goroutine 18 [running]:"
		if head := bytes.Fields(stack); len(head) > 1 {
			out[string(head[1])] = string(stack)
		}
	}
	return out
}
