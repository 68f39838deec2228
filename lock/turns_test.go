package lock

import (
	"context"
	"testing"
)

func countAsks(n *int) func() bool { return func() bool { *n++; return true } }

func giveAlways(g int) func() (int, bool) { return func() (int, bool) { return g, true } }

// TestTurnsKeepOrder: waiters are served in order of arrival, and one request stands for all.
func TestTurnsKeepOrder(t *testing.T) {
	var turns Turns[int]
	started := 0
	first, ahead := turns.Join(countAsks(&started))
	second, behind := turns.Join(countAsks(&started))
	if ahead != -1 || behind != 1 || started != 1 || turns.Try() {
		t.Errorf("ahead %d and %d, %d requests", ahead, behind, started)
	}
	turns.Serve(giveAlways(2))
	turns.Serve(giveAlways(3))
	if a, b := <-first.Got, <-second.Got; a != 2 || b != 3 || started != 1 {
		t.Errorf("got %d and %d after %d requests, want 2 and 3 after 1", a, b, started)
	}
	if turns.Serve(giveAlways(4)) || !turns.busy {
		t.Error("served without waiters, or idle before Next")
	}
	if turns.Next(countAsks(&started)); turns.busy || started != 1 || !turns.Try() || turns.Try() {
		t.Errorf("busy without waiters, after %d requests", started)
	}
}

// TestTurnsRecall: the request is recalled when the last waiter leaves, not before.
func TestTurnsRecall(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	var turns Turns[int]
	started := 0
	first, _ := turns.Join(countAsks(&started))
	last, _ := turns.Join(countAsks(&started))
	var next *Waiter[int]
	asked := turns.Request(t.Context(), func(ctx context.Context) error {
		if _, served := turns.Await(ended, t.Context(), first); served || ctx.Err() != nil {
			t.Errorf("served %t, while another waits the request ends with %v", served, ctx.Err())
		}
		if _, served := turns.Await(t.Context(), ended, last); served || ctx.Err() == nil {
			t.Errorf("served %t, or not recalled", served)
		}
		next, _ = turns.Join(countAsks(&started))
		return ctx.Err()
	}, func(error) int { return 1 })
	if !asked || len(next.Got) > 0 {
		t.Errorf("asked %t; a waiter that came after the recall got the value of the request", asked)
	}
	turns.Leave(next)
	if turns.Request(t.Context(), nil, nil) || turns.busy {
		t.Error("busy without waiters")
	}
	late, _ := turns.Join(countAsks(&started))
	if _, served := turns.Leave(late); served || started != 2 {
		t.Errorf("served %t after %d requests", served, started)
	}
}

// TestTurnsServedWhileLeaving: a waiter that leaves too late gets its value.
func TestTurnsServedWhileLeaving(t *testing.T) {
	var turns Turns[int]
	a, _ := turns.Join(func() bool { return true })
	b, _ := turns.Join(nil)
	if turns.Serve(func() (int, bool) { return 0, false }) || turns.Len() != 2 {
		t.Error("served without an offer")
	}
	turns.Request(t.Context(), func(context.Context) error { return errTest }, func(error) int { return 7 })
	for _, w := range []*Waiter[int]{a, b} {
		if g, served := turns.Leave(w); !served || g != 7 {
			t.Errorf("Leave = %d, %t, want 7, true", g, served)
		}
	}
}

// TestTurnsClosed: a queue whose client cannot ask stays idle.
func TestTurnsClosed(t *testing.T) {
	var turns Turns[int]
	for _, next := range []func(func() bool){func(start func() bool) { turns.Join(start) }, turns.Next} {
		if next(func() bool { return false }); turns.busy {
			t.Error("busy without a request")
		}
	}
	if turns.Next(func() bool { return true }); !turns.busy {
		t.Error("idle with a waiter, whom no request serves")
	}
}
