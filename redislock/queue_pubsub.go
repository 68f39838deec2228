package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// With Options.PubSub a Mutex has a channel in place of each mailbox. The server says
// at once whether any process listens, so a waiter of a process that has gone is left
// out without a grant timeout, and no request fetches a notification: two requests for
// each acquisition.
//
// # Trade-offs
//
// Nothing is kept for a process that does not listen at that moment: a connection that
// breaks, or one that has just been made, means that every waiter of the process
// asks again. What the server takes for a listener may be a dead connection,
// which costs the grant timeout each time. In a cluster each message goes
// to all nodes, and only those listeners count that are connected to the node of the
// lock: go-redis subscribes there, but a slot that moves leaves the listeners behind,
// and they are passed over until their connections break. Servers drop a client that reads too slowly
// (client-output-buffer-limit).
//
// # References
//
// locklab, docs/decisions/0008-redis-queue.md.
// Redis documentation, PUBLISH and "Redis Pub/Sub", section "Delivery
// semantics"; the rest is as in queue.

// channelMark begins the names of mailboxes that are channels.
const channelMark = "@"

// hear hands the notifications of a channel out until there is no waiter to read for.
func (r *reader) hear(rdb redis.UniversalClient) {
	var pause time.Duration
	for failed := false; ; {
		keys, _ := r.next(failed)
		if len(keys) == 0 {
			return
		}
		err := r.subscription(rdb, r.on[0])
		if r.c.open.Err() != nil {
			return
		}
		r.back(nil)
		if failed = err != nil; failed {
			pause = min(max(retryPause, 2*pause), retryMost)
			r.c.pause(r.c.open, pause)
		}
	}
}

// subscription listens to the channel until it fails, or there is no waiter to
// read for.
func (r *reader) subscription(rdb redis.UniversalClient, b *mailbox) error {
	s := rdb.Subscribe(r.c.open, b.key)
	defer s.Close()
	stop := context.AfterFunc(r.c.open, func() { s.Close() })
	defer stop()
	for {
		got, err := s.Receive(r.c.open)
		if err != nil {
			r.c.mail.Lock()
			b.failWaiters(err)
			r.c.mail.Unlock()
			return err
		}
		switch got := got.(type) {
		case *redis.Subscription:
			b.wakeAll() // they have been lost until now
		case *redis.Message:
			if got.Payload == stopWord {
				b.wakeAll() // notifications may be lost from now on
				return nil
			}
			b.deliver(got.Payload, time.Time{})
		}
	}
}
