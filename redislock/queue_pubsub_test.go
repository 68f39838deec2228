package redislock_test

import (
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestQueuePubsub: what redis-queue-pubsub does about messages that do not come.
func TestQueuePubsub(t *testing.T) {
	t.Parallel()
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, test := range []struct {
		name string
		lose func(t *testing.T, p *peer, watch *link) // before the release
		cost time.Duration
	}{
		{"message lost with its connection", func(_ *testing.T, p *peer, _ *link) { p.mail.lose.Store(1) }, 0},
		{"connection lost before", func(_ *testing.T, p *peer, _ *link) { p.mail.cut() }, 0},
		{"killed by the server", func(t *testing.T, p *peer, watch *link) {
			for _, c := range p.mail.open() {
				watch.ClientKillByFilter(t.Context(), "ADDR", c.LocalAddr().String())
			}
		}, 0},
		// The server takes it for a listener: the grant is lost.
		{"dead connection", func(_ *testing.T, p *peer, _ *link) { p.mail.stall.Store(true) }, pubsubGrant},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaktest.Own(t)
			watch, key := dial(t, at), newKey()
			p, other := newPeer(t, at), newPeer(t, at)
			o := redislock.Options{HandoffTimeout: pubsubGrant, TTL: time.Second, PubSub: true}
			m, rival := p.Client.Mutex(key, o), other.Client.Mutex(key, o)
			l := lock(t, rival)
			w := enqueue(t, watch, m)
			eventually(t, "it listens", func() bool {
				return len(watch.PubSubChannels(t.Context(), key+":~mail:*").Val()) == 1
			})
			time.Sleep(20 * time.Millisecond) // and has asked again
			test.lose(t, p, watch)
			left := time.Now() // or later: the grant counts from when the server has the request
			unlock(t, l)
			if test.cost > 0 {
				time.Sleep(10 * time.Millisecond) // the message has come to no listener
				next := lock(t, rival)            // past the dead listener
				between(t, "getting past a dead listener", time.Since(left), test.cost, test.cost)
				p.mail.stall.Store(false)
				p.mail.cut()
				unlock(t, next)
				left = time.Now()
			}
			next, came := w.lease(t)
			between(t, "a hand-over without its message", came.Sub(left), -time.Second, 0)
			unlock(t, next)
			unlock(t, lock(t, rival))
		})
	}
}

// pubsubGrant is what a listener that is dead costs.
const pubsubGrant = 300 * time.Millisecond
