package redislock

import (
	"context"
	"fmt"
)

// A Semaphore is a [Mutex] with several permits, given in order of arrival. Each has
// a lease of its own, by the clock of the server: a holder that dies keeps its
// permit for no longer than that. See shared in share.go for how the server keeps
// it.
//
// Two requests alone; three for each acquisition behind others, whatever the number of
// permits and waiters.
//
// Sets of holders by the time of the clients are the usual way, in Carlson's book
// and in Redisson's RPermitExpirableSemaphore: a client whose clock is ahead then
// takes the permits of others.
//
// # References
//
// Carlson, "Redis in Action", Manning, 2013, section 6.3, "Counting semaphores".
// Redisson, org.redisson.RedissonPermitExpirableSemaphore.
// locklab, docs/decisions/0008-redis-queue.md.

// maxPermits is more than any queue can serve in time.
const maxPermits = 1 << 20

// A Semaphore is a lock that several hold at once: each has one of its permits.
// They are given in order of arrival, to all clients that use the same name on
// the same server. It can be locked again after any error.
//
// # Fencing
//
// A token is greater than those of all that were given a permit before. That orders
// the grants, but a resource cannot use it to refuse a paused holder: one that is
// merely slow has a smaller token too than those that come and go with the other
// permits.
type Semaphore struct{ queue *Mutex }

// Semaphore returns the semaphore with that name and so many permits; see
// [Client.Mutex] on names. All clients must agree on the number: where they do
// not, a permit is given if it is within the number of both its taker and of one of
// the holders.
func (c *Client) Semaphore(name string, permits int, o Options) *Semaphore {
	s := &Semaphore{c.shared(name, o, permits)}
	if s.queue.err == nil && (permits < 1 || permits > maxPermits) {
		s.queue.err = fmt.Errorf("%w: a semaphore of %d permits: want 1 to %d", ErrUsage, permits, maxPermits)
	}
	return s
}

// Name returns the key of the semaphore.
func (s *Semaphore) Name() string { return s.queue.Name() }

// Lock waits for a permit until ctx ends, in order of arrival, see [Mutex.Lock].
// The lease is that of the permit.
func (s *Semaphore) Lock(ctx context.Context) (*Lease, error) { return s.queue.Lock(ctx) }

// TryLock takes a permit if there is one left and there are no waiters. The error
// wraps ErrNotAcquired otherwise.
func (s *Semaphore) TryLock(ctx context.Context) (*Lease, error) { return s.queue.TryLock(ctx) }
