package redislock

import (
	"context"
)

// A PubSubMutex is a [PollMutex] whose waiters listen instead of polling. A release
// publishes on a channel; all waiters of all processes wake up at once and ask, all but one
// in vain (a thundering herd).
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live.
//  2. Otherwise listen to the channel of the lock, with one connection for all waiters of the
//     process. Ask again when the server has confirmed that: the lock may have been released in
//     between.
//  3. Wait for a message, a broken connection, or the end of the key's time, and go to 1.
//     Messages are hints, and a key that expires sends none.
//  4. Release: delete the key if it has the own nonce, and publish, in one script.
//
// An uncontended acquisition takes two requests. With N waiters each release costs N requests
// and N messages, which delay the holder's next request; the order of service is random.
//
// # References
//
// Redisson, org.redisson.RedissonLock: this protocol, plus a count of re-entries and a
// latch. Redis documentation, "Redis Pub/Sub", section "Delivery semantics": at most once.

// A PubSubMutex is a lock between all clients that use the same name on the same server, whose
// waiters all wake up when it is released. It can be locked again after any error. It is not
// reentrant, and has no fencing tokens. [Mutex] has them, is fairer, and cheaper with waiters.
type PubSubMutex struct {
	*keyLock
	channel string
}

var (
	pubsubAcquire = newScript("needs", "pubsub_acquire")
	pubsubRelease = newScript("pubsub_release")
	pubsubNeeds   = needs(pubsubRelease, pollRenew)
)

// PubSubMutex returns the mutex with that name, its key in the server, such as "locks:reindex".
// Its channel is named as [Client.Mutex] describes, with ~released. It may be made for every
// call: all locks of a name share one connection, until five seconds after their last waiter.
func (c *Client) PubSubMutex(name string, o Options) *PubSubMutex {
	m := &PubSubMutex{newKeyLock(c, name, o), companion(name, "released")}
	m.ask, m.needs = pubsubAcquire, pubsubNeeds
	m.free = func(ctx context.Context, nonce string) (bool, error) {
		return m.release(ctx, pubsubRelease, nonce, m.channel)
	}
	m.strategy = func() (waitFunc, func(bool)) { return c.messages(m.channel, true, m.o.TTL) }
	return m
}
