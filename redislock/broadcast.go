package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A broadcast notifies all waiters of a process on a channel at once, through one connection. It
// may notify them without a message, and always does if messages may have been lost.
type broadcast struct {
	c       *Client
	channel string

	mu      sync.Mutex
	waiters int
	sub     *redis.PubSub // nil while there is no subscription
	ready   bool          // the server has confirmed it
	err     error         // why the last subscription ended, if the server refused it
	notice  chan struct{} // closed at the next notification
	idle    *time.Timer   // ends the subscription; nil before the first
}

func (c *Client) broadcast(channel string) *broadcast {
	return c.broadcasts.get(channel, func() *broadcast { return &broadcast{c: c, channel: channel, notice: make(chan struct{})} })
}

const broadcastLinger = 5 * time.Second

// enter adds a waiter, and subscribes if there is no subscription yet. It returns a channel
// that is closed at the next notification. ready reports whether messages arrive from now
// on; if not, that notification comes when they do.
func (b *broadcast) enter() (notice <-chan struct{}, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters++
	if b.idle != nil {
		b.idle.Stop()
	}
	if b.sub == nil {
		rdb, err := b.c.listener()
		if err != nil {
			b.err = err
			defer b.notify()
			return b.notice, false
		}
		sub := rdb.Subscribe(b.c.open, b.channel) // Receive retries a failed subscription
		if !b.c.spawn(func() { b.listen(sub) }) {
			sub.Close()
			return b.notice, false
		}
		b.sub, b.ready, b.err = sub, false, nil
	}
	return b.notice, b.ready
}

func (b *broadcast) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters--; b.waiters > 0 || b.sub == nil {
		return
	}
	if b.idle == nil {
		b.idle = time.AfterFunc(broadcastLinger, b.stop)
	} else {
		b.idle.Reset(broadcastLinger)
	}
}

func (b *broadcast) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters == 0 && b.sub != nil {
		b.sub.Close() // also ends listen
		b.sub, b.ready = nil, false
	}
}

// next returns a channel that is closed at the next notification, or the error that
// prevents one.
func (b *broadcast) next() (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notice, b.err
}

func (b *broadcast) listen(sub *redis.PubSub) {
	stop := context.AfterFunc(b.c.open, func() { sub.Close() })
	defer stop()
	var pause time.Duration
	for {
		_, err := sub.Receive(b.c.open)
		if !b.received(sub, err) {
			return
		}
		if err == nil {
			pause = 0
			continue
		}
		pause = min(max(retryPause, 2*pause), time.Second)
		if !b.c.pause(b.c.open, pause) {
			return
		}
	}
}

// notify notifies the waiters. The caller holds b.mu.
func (b *broadcast) notify() {
	close(b.notice)
	b.notice = make(chan struct{})
}

// received notifies the waiters after sub has received a message or failed with err. It
// reports whether to continue listening to sub.
func (b *broadcast) received(sub *redis.PubSub, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notify()
	if b.sub != sub || b.c.open.Err() != nil {
		return false
	}
	if b.ready = err == nil; b.ready {
		b.c.heard.Store(true)
	}
	if b.c.deaf(err) { // go-redis would wait for messages all the same
		b.err, b.sub = err, nil
		sub.Close()
		return false
	}
	return true
}
