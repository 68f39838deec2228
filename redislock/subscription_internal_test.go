package redislock

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestSubscriptionWakes(t *testing.T) {
	unlocked := &redis.Message{Payload: unlockMessage}
	readUnlocked := &redis.Message{Payload: readUnlockMessage}
	again := &redis.Subscription{Kind: "subscribe"}
	type leaving struct {
		waiter int
		served bool
	}
	for _, test := range []struct {
		name  string
		every bool
		hear  []any
		leave []leaving
		want  []bool // which of three are awake; false for waiters that have left
	}{
		{"nothing", false, nil, nil, []bool{false, false, false}},
		{"one message, one waiter", false, []any{unlocked}, nil, []bool{true, false, false}},
		{"two messages, two waiters", false, []any{unlocked, unlocked}, nil, []bool{true, true, false}},
		{"more messages than waiters", false, []any{unlocked, unlocked, unlocked, unlocked}, nil, []bool{true, true, true}},
		{"readers' message", false, []any{readUnlocked}, nil, []bool{true, true, true}},
		{"subscribed", false, []any{again}, nil, []bool{true, true, true}},
		{"a message of another kind", false, []any{&redis.Message{Payload: "2"}, &redis.Pong{}}, nil, []bool{false, false, false}},
		{"served", false, []any{unlocked}, []leaving{{0, true}}, []bool{false, false, false}},
		{"every waiter: one message", true, []any{unlocked}, nil, []bool{true, true, true}},
		{"every waiter: the connection failed", true, []any{nil}, nil, []bool{true, true, true}},
		{"every waiter: gives up", true, nil, []leaving{{0, false}}, []bool{false, false, false}},
		{"the connection failed", false, []any{nil}, nil, []bool{false, false, false}},
		{"gives up awake", false, []any{unlocked}, []leaving{{0, false}}, []bool{false, true, false}},
		{"all give up", false, []any{unlocked}, []leaving{{0, false}, {1, false}, {2, false}}, []bool{false, false, false}},
	} {
		s := &subscription{c: new(Client), channel: "c", every: test.every}
		waiters := []*listener{s.join(), s.join(), s.join()}
		for _, m := range test.hear {
			s.hear(m)
		}
		left := make(map[int]bool)
		for _, l := range test.leave {
			s.leave(waiters[l.waiter], l.served)
			left[l.waiter] = true
		}
		got := make([]bool, len(waiters))
		for i, w := range waiters {
			got[i] = len(w.woken) > 0 && !left[i]
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: awake %v, want %v", test.name, got, test.want)
		}
	}
}
