package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
)

// unlockMessage on a Redisson channel means that the lock is free.
const unlockMessage = "0"

// permits is how many messages may arrive before a waiter takes one.
const permits = 1 << 16

func redissonName(prefix, name string) string { return prefix + ":" + name }

// A redisson is a lock of Redisson in one client.
type redisson struct {
	p      *process
	name   string
	id     string // of the client: part of every owner
	ttl    time.Duration
	hub    *hub
	owners atomic.Int64
}

func newRedisson(p *process, name string, ttl time.Duration) *redisson {
	return &redisson{p: p, name: name, id: rand.Text(), ttl: ttl,
		hub: &hub{p: p, subs: make(map[string]*subscription)}}
}

func (r *redisson) newOwner() string { return r.id + ":" + strconv.FormatInt(r.owners.Add(1), 10) }

// answer returns the lease of owner that reply grants, or the time after which to ask again. The
// request was sent at sent, and renew renews the lease.
func (r *redisson) answer(sent time.Time, reply *redis.Cmd, owner string, renew *redis.Script, release func(context.Context) (held bool, err error)) (*adapt.Lease, time.Duration, error) {
	left, err := reply.Int64()
	if err != redis.Nil {
		return nil, time.Duration(left) * time.Millisecond, err
	}
	l, err := r.p.grant(sent, r.ttl, release, func(ctx context.Context) (bool, error) {
		n, err := renew.Run(ctx, r.p.rdb, []string{r.name}, owner, r.ttl.Milliseconds()).Int()
		return n == 1, err
	})
	return l, 0, err
}

// A hub is the connection on which the locks of a process subscribe to channels. All waiters of
// a channel share one subscription, and the last one to leave ends it.
type hub struct {
	p *process

	mu     sync.Mutex
	pubsub *redis.PubSub // nil before the first SUBSCRIBE
	subs   map[string]*subscription
}

type subscription struct {
	waiters   int
	confirmed bool
	ready     chan struct{} // closed once the server has confirmed
	latch     chan struct{} // a semaphore: each message is a permit
}

// An ask requests a lock. Without a lease it returns the time after which to ask again.
type ask func() (*adapt.Lease, time.Duration, error)

// join adds a waiter to the subscription of channel. Without an error the waiter must leave.
func (h *hub) join(ctx context.Context, channel string) (*subscription, error) {
	s, err := h.add(ctx, channel)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, h.p, s.ready); err != nil {
		h.leave(ctx, channel)
		return nil, err
	}
	return s, nil
}

func (h *hub) add(ctx context.Context, channel string) (*subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		pubsub := h.p.blocking.Subscribe(h.p.open)
		if !h.p.spawn(func() { h.read(pubsub) }) {
			pubsub.Close()
			return nil, errClosed
		}
		h.pubsub = pubsub
	}
	s := h.subs[channel]
	if s == nil {
		s = &subscription{ready: make(chan struct{}), latch: make(chan struct{}, permits)}
		h.subs[channel] = s
		_ = h.pubsub.Subscribe(ctx, channel) // read repeats it after a failure
	}
	s.waiters++
	return s, nil
}

func (h *hub) leave(ctx context.Context, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[channel].waiters--
	h.endUnused(ctx, channel)
}

// endUnused ends a subscription without waiters. One that is not confirmed stays until then, so
// that each confirmation belongs to the last SUBSCRIBE. The caller holds h.mu.
func (h *hub) endUnused(ctx context.Context, channel string) {
	if s := h.subs[channel]; s.waiters > 0 || !s.confirmed {
		return
	}
	delete(h.subs, channel)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWait)
	defer cancel()
	_ = h.pubsub.Unsubscribe(ctx, channel) // if it does not arrive, later messages are ignored
}

// acquire asks for a lock, and again for each permit of the channel and at the end of the time
// that the last answer contains. It calls undo if it fails.
func (h *hub) acquire(ctx context.Context, try bool, channel string, ask ask, undo func(context.Context) error) (*adapt.Lease, error) {
	l, _, err := ask()
	switch {
	case l != nil || err != nil:
	case try:
		return nil, harness.ErrNotAcquired
	default:
		l, err = h.queue(ctx, channel, ask)
	}
	if err != nil {
		h.p.undo(ctx, undo)
	}
	return l, err
}

func (h *hub) queue(ctx context.Context, channel string, ask ask) (*adapt.Lease, error) {
	s, err := h.join(ctx, channel)
	if err != nil {
		return nil, err
	}
	defer h.leave(ctx, channel)
	for {
		l, left, err := ask()
		if l != nil || err != nil {
			return l, err
		}
		if err := h.sleep(ctx, s, left); err != nil && (ctx.Err() != nil || errors.Is(err, errClosed)) {
			return nil, err
		}
	}
}

// sleep has no limit if left is negative.
func (h *hub) sleep(ctx context.Context, s *subscription, left time.Duration) error {
	if left >= 0 {
		short, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		ctx = short
	}
	return wait(ctx, h.p, s.latch)
}

// read: after a failure go-redis connects and subscribes again.
func (h *hub) read(pubsub *redis.PubSub) {
	defer context.AfterFunc(h.p.open, func() { pubsub.Close() })()
	for got := range pubsub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(0)) {
		h.hear(got)
	}
}

func (h *hub) hear(got any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch got := got.(type) {
	case *redis.Subscription:
		if s := h.subs[got.Channel]; s != nil && !s.confirmed && got.Kind == "subscribe" {
			s.confirmed = true
			close(s.ready)
			h.endUnused(h.p.open, got.Channel)
		}
	case *redis.Message:
		s := h.subs[got.Channel]
		if s == nil || got.Payload != unlockMessage {
			return
		}
		select {
		case s.latch <- struct{}{}:
		default:
		}
	}
}
