package lab

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A hub is the connection on which a process of these locks subscribes to any channels.
type hub struct {
	p *process

	mu        sync.Mutex
	pubsub    *redis.PubSub         // nil before the first SUBSCRIBE
	asked     map[string][]*entry12 // for confirmation, in order
	listeners map[string][]*entry12

	subscribes atomic.Uint64
}

func newHub(p *process) *hub {
	return &hub{p: p, asked: make(map[string][]*entry12), listeners: make(map[string][]*entry12)}
}

// subscribe sends SUBSCRIBE, whose confirmation keeps e's promise; each message is a permit.
func (h *hub) subscribe(ctx context.Context, channel string, e *entry12) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		pubsub := h.p.blocking.Subscribe(h.p.open)
		if !h.p.spawn(func() { h.read(pubsub) }) {
			pubsub.Close()
			return errClosed
		}
		h.pubsub = pubsub
	}
	h.asked[channel] = append(h.asked[channel], e)
	h.subscribes.Add(1)
	// After a failure Receive connects and subscribes again.
	_ = h.pubsub.Subscribe(ctx, channel)
	return nil
}

func (h *hub) await(ctx context.Context, e *entry12) error {
	select {
	case <-e.promise.kept:
		return e.promise.err
	case <-ctx.Done():
		return ctx.Err()
	case <-h.p.open.Done():
		return errClosed
	}
}

// queued waits for the subscription of e, and asks again for each permit and at the end of the
// time that the last answer contains.
func (h *hub) queued(ctx context.Context, e *entry12, ask func() (*plainLease, time.Duration, error)) (*plainLease, error) {
	if err := h.await(ctx, e); err != nil {
		return nil, err
	}
	for {
		l, left, err := ask()
		if l != nil || err != nil {
			return l, err
		}
		if _, err := h.sleep(ctx, e, left); err != nil && (ctx.Err() != nil || errors.Is(err, errClosed)) {
			return nil, err
		}
	}
}

// sleep takes a permit of e, waiting for at most left; below zero without bound.
func (h *hub) sleep(ctx context.Context, e *entry12, left time.Duration) (woken bool, err error) {
	if left >= 0 {
		short, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		ctx = short
	}
	select {
	case <-e.latch:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-h.p.open.Done():
		return false, errClosed
	}
}

func (h *hub) unsubscribe(ctx context.Context, channel string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWait)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, channel)
	if h.pubsub == nil {
		return
	}
	// If it does not arrive, later messages are ignored.
	_ = h.pubsub.Unsubscribe(ctx, channel)
}

func (h *hub) read(pubsub *redis.PubSub) {
	over := context.AfterFunc(h.p.open, func() { pubsub.Close() })
	defer over()
	var pause time.Duration
	for {
		got, err := pubsub.Receive(h.p.open)
		if err != nil {
			pause = min(max(retryPause, 2*pause), time.Second)
			if !h.p.pause(h.p.open, pause) {
				pubsub.Close()
				return
			}
			continue
		}
		pause = 0
		h.hear(got)
	}
}

func (h *hub) hear(got any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch got := got.(type) {
	case *redis.Subscription:
		asked := h.asked[got.Channel]
		if got.Kind != "subscribe" || len(asked) == 0 {
			return
		}
		h.listeners[got.Channel] = append(slices.Clip(h.listeners[got.Channel]), asked[0])
		asked[0].promise.keep(nil)
		if h.asked[got.Channel] = asked[1:]; len(asked) == 1 {
			delete(h.asked, got.Channel)
		}
	case *redis.Message:
		if got.Payload != unlockMessage {
			return
		}
		for _, e := range h.listeners[got.Channel] {
			select {
			case e.latch <- struct{}{}:
			default:
			}
		}
	}
}
