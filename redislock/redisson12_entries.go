package redislock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// entries12 is the map by which waiters of a process share one subscription:
// Redisson 1.2.0's ENTRIES, which is one for the whole process, but whose keys
// begin with the id of a client. So one for each lock of a client is the same,
// and has one key.
//
// # Why the count of waiters is not an atomic integer
//
// What must be atomic is more than the count: who counts down to zero removes the
// entry, and between these two steps somebody may count it up again. With an
// atomic integer in the entry, remove(key, entry) still finds the same entry and
// removes it under the feet of the new waiter, who then sleeps beside a map in
// which no message finds it, on a channel that has been unsubscribed. So an entry
// never changes. To count is to replace it by a copy: a compare-and-swap of
// identity and count together, by which remove(key, entry) fails if anybody has
// counted since.
type entries12 struct {
	m       sync.Map   // "" to *entry12
	mu      sync.Mutex // from what the map says to what is sent about it
	channel *channel12
	before  func(step string)
}

// An entry12 is never changed.
type entry12 struct {
	waiters int
	latch   chan struct{} // a semaphore: holds the permits
	promise *promise12    // of the subscription
}

// A promise12 is kept once: with an error, or nil.
type promise12 struct {
	once sync.Once
	kept chan struct{}
	err  error
}

func (p *promise12) keep(err error) {
	p.once.Do(func() {
		p.err = err
		close(p.kept)
	})
}

// permits is how many messages may come before anybody takes one.
const permits = 1 << 16

// with returns a copy of e with n more waiters.
func (e *entry12) with(n int) *entry12 {
	copied := *e
	copied.waiters += n
	return &copied
}

// enter adds a waiter to an entry that is there.
func (s *entries12) enter() *entry12 {
	for {
		got, ok := s.m.Load("")
		if !ok {
			return nil
		}
		e := got.(*entry12)
		if next := e.with(1); s.m.CompareAndSwap("", e, next) {
			return next
		}
	}
}

// subscribe joins the subscription, and waits for it. The waiter has left an
// entry to unsubscribe from if that is not nil, even after an error.
func (s *entries12) subscribe(ctx context.Context) (*entry12, error) {
	e := s.enter()
	for e == nil {
		first := &entry12{1, make(chan struct{}, permits), &promise12{kept: make(chan struct{})}}
		if _, there := s.m.LoadOrStore("", first); there {
			e = s.enter()
			continue
		}
		e = first
		s.before("subscribe")
		s.mu.Lock()
		err := s.channel.subscribe(ctx, first)
		s.mu.Unlock()
		if err != nil {
			first.promise.keep(err)
		}
	}
	select {
	case <-e.promise.kept:
		return e, e.promise.err
	case <-ctx.Done():
		return e, ctx.Err()
	case <-s.channel.c.open.Done():
		return e, ErrClosed
	}
}

// unsubscribe takes a waiter off, and ends the subscription with the last.
func (s *entries12) unsubscribe(ctx context.Context) {
	for {
		got, ok := s.m.Load("")
		if !ok {
			return
		}
		e := got.(*entry12)
		next := e.with(-1)
		if !s.m.CompareAndSwap("", e, next) {
			continue
		}
		if next.waiters > 0 {
			return
		}
		s.before("remove")
		if !s.m.CompareAndDelete("", next) {
			return // somebody has come
		}
		s.before("unsubscribe")
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, again := s.m.Load(""); !again { // or somebody's SUBSCRIBE follows
			s.channel.unsubscribe(ctx)
		}
		return
	}
}

// channel12 is the connection by which a process subscribes to one channel.
type channel12 struct {
	c    *Client
	name string

	mu        sync.Mutex
	pubsub    *redis.PubSub
	listeners []*entry12
	asked     []*entry12 // for confirmation, in order

	subscribes, unsubscribes, messages atomic.Uint64
}

// subscribe sends SUBSCRIBE; messages are for e from its confirmation on.
func (ch *channel12) subscribe(ctx context.Context, e *entry12) error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.pubsub == nil {
		rdb, err := ch.c.listener()
		if err != nil {
			return err
		}
		pubsub := rdb.Subscribe(ch.c.open)
		if !ch.c.spawn(func() { ch.read(pubsub) }) {
			pubsub.Close()
			return ErrClosed
		}
		ch.pubsub = pubsub
	}
	ch.asked = append(ch.asked, e)
	ch.subscribes.Add(1)
	// If it fails, Receive connects and subscribes again.
	_ = ch.pubsub.Subscribe(ctx, ch.name)
	return nil
}

func (ch *channel12) unsubscribe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
	defer cancel()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.listeners = nil
	if ch.pubsub == nil {
		return
	}
	ch.unsubscribes.Add(1)
	// If it does not arrive, messages come that nobody hears.
	_ = ch.pubsub.Unsubscribe(ctx, ch.name)
}

func (ch *channel12) read(pubsub *redis.PubSub) {
	over := context.AfterFunc(ch.c.open, func() { pubsub.Close() })
	defer over()
	var pause time.Duration
	for {
		got, err := pubsub.Receive(ch.c.open)
		if err != nil {
			pause = min(max(retryPause, 2*pause), time.Second)
			if !ch.c.pause(ch.c.open, pause) {
				pubsub.Close()
				return
			}
			continue
		}
		pause = 0
		ch.hear(got)
	}
}

func (ch *channel12) hear(got any) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	switch got := got.(type) {
	case *redis.Subscription:
		if got.Kind == "subscribe" && len(ch.asked) > 0 {
			e := ch.asked[0]
			ch.asked, ch.listeners = ch.asked[1:], append(ch.listeners, e)
			e.promise.keep(nil)
		}
	case *redis.Message:
		ch.messages.Add(1)
		if got.Payload != unlockMessage {
			return
		}
		for _, e := range ch.listeners {
			select {
			case e.latch <- struct{}{}:
			default:
			}
		}
	}
}

func (ch *channel12) traffic() harness.Counts {
	return harness.Counts{Requests: ch.subscribes.Load() + ch.unsubscribes.Load(), Notifications: ch.messages.Load()}
}
