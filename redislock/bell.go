package redislock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A bell rings in every process that listens to a channel, for all of its
// waiters at once, with one connection for the process. It may ring without a
// message, and it rings whenever messages may have been lost.
type bell struct {
	c       *Client
	channel string
	heard   atomic.Uint64 // messages

	mu    sync.Mutex
	users int
	sub   *redis.PubSub // nil if nobody listens
	ready bool          // the server has confirmed it
	mute  error         // why the last listening ended in vain
	ring  chan struct{} // closed at the next ring
	idle  *time.Timer   // ends the listening; nil before the first
}

// bell returns the one of a channel.
func (c *Client) bell(channel string) *bell {
	return c.bells.get(channel, func() *bell { return &bell{c: c, channel: channel, ring: make(chan struct{})} })
}

// bellLinger is how long a process listens after its last waiter has gone.
const bellLinger = 5 * time.Second

// enter begins to listen, if nobody does yet. It returns what closes at the next
// ring, and whether messages are heard from now on; if not, that ring says so.
func (b *bell) enter() (ring <-chan struct{}, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users++
	if b.idle != nil {
		b.idle.Stop()
	}
	if b.sub == nil {
		rdb, err := b.c.listener()
		if err != nil {
			b.mute = err
			defer b.now()
			return b.ring, false
		}
		sub := rdb.Subscribe(b.c.open, b.channel) // what fails is tried again by Receive
		if !b.c.spawn(func() { b.listen(sub) }) {
			sub.Close()
			return b.ring, false
		}
		b.sub, b.ready, b.mute = sub, false, nil
	}
	return b.ring, b.ready
}

// leave is for whoever has entered.
func (b *bell) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users--; b.users > 0 || b.sub == nil {
		return
	}
	if b.idle == nil {
		b.idle = time.AfterFunc(bellLinger, b.rest)
	} else {
		b.idle.Reset(bellLinger)
	}
}

// rest ends the listening if there are still no waiters.
func (b *bell) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == 0 && b.sub != nil {
		b.sub.Close() // which ends the connection, and with it listen
		b.sub, b.ready = nil, false
	}
}

// next returns what closes at the next ring, or why there may be none.
func (b *bell) next() (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring, b.mute
}

// listen rings for each message until sub is closed.
func (b *bell) listen(sub *redis.PubSub) {
	stop := context.AfterFunc(b.c.open, func() { sub.Close() })
	defer stop()
	var pause time.Duration
	for {
		got, err := sub.Receive(b.c.open)
		if b.over(sub, err) {
			return
		}
		if err == nil {
			if _, ok := got.(*redis.Message); ok {
				b.heard.Add(1)
			}
			pause = 0
			continue
		}
		pause = min(max(retryPause, 2*pause), time.Second)
		if !b.c.pause(b.c.open, pause) {
			return
		}
	}
}

// now rings. The caller holds b.mu.
func (b *bell) now() {
	close(b.ring)
	b.ring = make(chan struct{})
}

// over rings after sub has heard something, or failed with err, and reports whether
// sub is no longer the one to listen to.
func (b *bell) over(sub *redis.PubSub, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now()
	if b.sub != sub || b.c.open.Err() != nil {
		return true
	}
	b.ready = err == nil
	if denied(err) { // go-redis would wait for messages all the same
		b.mute, b.sub = err, nil
		sub.Close()
		return true
	}
	return false
}
