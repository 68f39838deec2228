package zklock_test

import (
	"testing"
	"time"

	"locklab/zklock"
	"locklab/zklock/lab"
)

// TestPoll compares a polling waiter with a watching one: requests while it waits, and delay.
func TestPoll(t *testing.T) {
	at := endpoint(t)
	const stay, rounds = 60 * time.Millisecond, 2
	for _, period := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		holder, waiter := dial(t, at, zklock.ClientOptions{}), dial(t, at, zklock.ClientOptions{})
		see, path := raw(t, at), newPath()
		mine, theirs := holder.Mutex(path, zklock.Options{}), waiter.Mutex(path, zklock.Options{})
		if period > 0 {
			lab.Follow(theirs, lab.Poll(period))
		}
		var late time.Duration
		before := counts(waiter)
		for range rounds {
			l := lock(t, mine)
			next := comes(t, t.Context(), theirs, see, 2)
			time.Sleep(stay)
			began := time.Now()
			unlock(t, l)
			l = take(t, next)
			late += time.Since(began)
			unlock(t, l)
		}
		cost := counts(waiter).Sub(before)
		t.Logf("period %v: %.1f requests and %.1f watch events for an acquisition that waits %v, handed over in %v",
			period, float64(cost.Requests)/rounds, float64(cost.Notifications)/rounds, stay, (late / rounds).Round(time.Microsecond))
		switch {
		case period == 0 && (cost.Requests > 5*rounds || cost.Notifications > rounds):
			t.Errorf("watching costs %+v, want at most 5 requests and a watch event each", cost)
		case period > 0 && cost.Notifications != 0:
			t.Errorf("polling every %v costs %+v: watch events", period, cost)
		case period == time.Millisecond && cost.Requests < 8*rounds: // 60 on an idle machine
			t.Errorf("polling every %v costs %+v: it does not poll", period, cost)
		}
	}
}
