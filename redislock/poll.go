package redislock

import (
	"context"
	"locklab/lock"
	"math/rand/v2"
	"time"
)

// A PollMutex is the lock of the Redis documentation for one server: SET with NX, PX and a
// random value, deleted by a script that compares the value. Waiters ask again after a random
// pause.
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live. If it has the own
//     nonce, a reply was lost; renew it.
//  2. Otherwise wait for half to one and a half poll intervals and go to 1.
//  3. Release: delete the key if it has the own nonce, by a script.
//
// An uncontended acquisition takes two requests. With contention the number of requests grows
// with the wait, and the order of service is random.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Correct Implementation with a
// Single Instance". Redis documentation, SET, section "Patterns".

// PollOptions configures a PollMutex. The zero value is usable.
type PollOptions struct {
	Options

	// Pause returns the wait before attempt n+1 of one Lock, n from 1; see Backoff. nil is 5
	// to 15 ms, evenly spread: fifty waiters then ask 5000 times a second.
	Pause func(n int) time.Duration
}

// A PollMutex is a lock between all clients that use the same name on the same server, whose
// waiters poll. It can be locked again after any error. It is not reentrant, and has no
// fencing tokens: [Lease.Token] is 0. [Mutex] has them, is fairer, and faster with waiters.
type PollMutex struct{ *keyLock }

// PollMutex returns the mutex with that name, its key in the server, such as "locks:reindex".
func (c *Client) PollMutex(name string, o PollOptions) *PollMutex {
	m := &PollMutex{newKeyLock(c, name, o.Options)}
	pause := o.Pause
	if pause == nil {
		pause = func(int) time.Duration { return leastPause + rand.N(mostPause-leastPause+1) }
	}
	m.strategy = func() (waitFunc, func(bool)) {
		return func(ctx context.Context, n int, _ time.Duration) (lock.Wake, error) {
			return lock.WakeTime, c.rest(ctx, pause(n))
		}, func(bool) {}
	}
	return m
}

// The default pauses of a polling waiter.
const leastPause, mostPause = 5 * time.Millisecond, 15 * time.Millisecond

// Backoff returns pauses for PollOptions: the nth is evenly spread from 0 to first doubled n-1
// times, at most to most ("full jitter": Brooker, "Exponential Backoff And Jitter", AWS
// Architecture Blog, 2015). Many waiters then send few requests.
func Backoff(first, most time.Duration) func(n int) time.Duration {
	return func(n int) time.Duration {
		bound := most
		if doublings := max(n, 1) - 1; doublings < 62 && first <= most>>doublings {
			bound = first << doublings
		}
		return rand.N(max(bound, 0) + 1)
	}
}
