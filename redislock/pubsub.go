package redislock

import (
	"context"
	"time"
)

// A PubSubMutex is a [PollMutex] whose waiters listen instead of asking: a release publishes that
// on a channel, all waiters of all processes wake up at once and
// ask, and all but one have done so in vain. That is a herd.
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live.
//  2. Otherwise listen to the channel of the lock, with one connection for all
//     waiters of the process, and when the server has confirmed that ask again: the
//     lock may have been released in between.
//  3. Wait for a message, a break of the connection, or the end of the time that
//     the key had left, and go to 1. Messages are hints, and a key that expires
//     sends none.
//  4. Release: delete the key if it carries the own nonce, and publish, in one
//     script.
//
// Two requests alone. With N waiters each release costs N requests and N times
// the messages, of which the processor of the server and the holder's own next
// request have their share; the order of service is chance.
//
// # References
//
// Redisson, org.redisson.RedissonLock: the protocol is its, without the count of
// re-entries and the latch.
// Redis documentation, "Redis Pub/Sub", section "Delivery semantics": at most once.

// A PubSubMutex is a lock between all clients that use the same name on the same
// server, whose waiters wake up together when it is released. It can be locked
// again after any error. It is not reentrant, and has no fencing tokens: [Lease.Token]
// is 0. [Mutex] has them, is fairer, and costs less as soon as there are two waiters.
type PubSubMutex struct {
	*keyLock
	broadcast *broadcast
}

var (
	pubsubAcquire = newScript("needs", "pubsub_acquire")
	pubsubRelease = newScript("pubsub_release")
	pubsubNeeds   = needs(pubsubRelease, pollRenew)
)

// PubSubMutex returns the mutex with that name: the key of the lock, such as
// "locks:reindex". Its channel is one of the names that [Client.Mutex] describes, with
// ~released. It may be made for every call: all of the client with one name
// listen by one connection, for as long as any of them waits and five seconds more.
func (c *Client) PubSubMutex(name string, o Options) *PubSubMutex {
	m := &PubSubMutex{newKeyLock(c, name, o), c.broadcast(companion(name, "released"))}
	m.ask, m.needs = pubsubAcquire, pubsubNeeds
	m.free = func(ctx context.Context, nonce string, _ releaser) (bool, error) {
		return m.release(ctx, pubsubRelease, nonce, m.broadcast.channel)
	}
	m.strategy = m.listen
	return m
}

// listen returns a wait for the broadcast of a release.
func (m *PubSubMutex) listen() (waitFunc, func()) {
	var notice <-chan struct{} // nil before the first wait; closed by a notification since the last attempt was sent
	wait := func(ctx context.Context, _ int, left time.Duration) (Wake, error) {
		if notice == nil {
			var ready bool
			if notice, ready = m.broadcast.enter(); ready {
				return WakeDoubt, nil
			}
		}
		if left == 0 {
			left = m.o.TTL
		}
		timer := time.NewTimer(left + watchLate)
		defer timer.Stop()
		select {
		case <-notice:
			var err error
			if notice, err = m.broadcast.next(); err != nil { // before the attempt, so that nothing is missed
				return "", err
			}
			return WakeMessage, nil
		case <-timer.C:
			return WakeTime, nil
		case <-ctx.Done():
		case <-m.c.serving.Done():
		}
		return "", m.c.ended(ctx)
	}
	return wait, func() {
		if notice != nil {
			m.broadcast.leave()
		}
	}
}
