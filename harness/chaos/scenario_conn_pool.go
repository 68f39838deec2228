package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/faultproxy"
)

var poolUsedUp = &Scenario{
	Name:     "pool-used-up",
	Question: "Does a holder keep its lease when the waiters of its client use up the connections?",
	Fault:    "a client with 64 connections has a worker that holds the lock and 159 that wait for it, and when they wait every message takes 100 ms for four leases; no other client is there, and the server runs",
	Source:   "row 19 of the usual list of failures of leases: a renewal waits for a connection like any request",
	Locks:    "redis-(queue|reentrant|rw|multi|cohort|pubsub|poll-5ms|unsafe)",
	Expect: []Expectation{
		{"redis-unsafe", []harness.Harm{harness.Lost, harness.Stall, harness.TwoHolders, harness.StaleWrite}, "its waiters ask by the connections that renewals go by, and its release deletes what it has asked for before it waited for one"},
		{"redis-poll-5ms", []harness.Harm{harness.Lost, harness.Stall}, "its waiters ask again and again by the connections that renewals go by, and a renewal waits behind them for longer than its lease"},
		{".*", []harness.Harm{harness.Lost}, "its waiters listen by connections of their own, and a renewal that would wait for one opens it: that takes 400 of the 1000 ms of the lease, which on a busy machine may be too long"},
	},
	Deadline: 30 * time.Second,
	Prompt:   2 * TTL,
	Alone:    true,
	Tries:    10,
	Aims:     []Aim{{redisRecommended, harness.FaultAim{Figure: "leases lost", Quantile: 1, Limit: 0, Text: "none"}}},
	Try: func(ctx context.Context, t *Try) {
		h := t.Host()
		t.Each(func(s *Subject) {
			holder, wire := t.wired(ctx, h, s)
			check(holder.Acquire(ctx, 0))
			for range 159 {
				w := holder.Join(ctx)
				w.Loop(ctx, Loop{Hold: 5 * time.Millisecond})
			}
			t.Sleep(ctx, TTL/2) // their first requests use the same connections
			wire.each(func(p *faultproxy.Proxy) {
				p.Delay(faultproxy.Request, 100*time.Millisecond)
				p.Delay(faultproxy.Reply, 100*time.Millisecond)
			})
			s.Fault("messages are late")
			t.Sleep(ctx, 4*TTL)
			s.lost(holder)
			holder.Release(ctx) // fails if the lock is lost
		})
	},
}

// showLost shows that a holder was notified of a loss, unless the machine kept a process
// that renews the lease from running for half the lease.
func (s *Subject) showLost(e *oracle.Event, format string, args ...any) {
	s.ShowTimed(harness.Lost, e.At-int64(TTL), e.At, TTL/2, format, args...)
}

func (s *Subject) lost(w *Worker) {
	var told []oracle.Event
	s.visit(func(e *oracle.Event) {
		if e.Kind == oracle.Told && e.Worker == w.ID {
			told = append(told, *e)
		}
	})
	for _, e := range told {
		s.showLost(&e, "%s", e.Text)
	}
	s.Figure("leases lost", "", float64(len(told)))
}
