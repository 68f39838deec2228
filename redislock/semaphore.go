package redislock

import (
	"context"
	"fmt"
)

// A Semaphore is a [Mutex] with several permits, given in order of arrival. Each permit has a
// separate lease by the clock of the server: a dead holder keeps its permit no longer than
// that. share.go describes the server's data.
//
// An uncontended acquisition takes two requests, one behind others three, whatever the number
// of permits and waiters.
//
// The usual set of holders (Carlson, Redisson) is by the clients' times: a client whose clock
// is ahead takes the permits of others.
//
// # References
//
// Carlson, "Redis in Action", Manning, 2013, section 6.3, "Counting semaphores". Redisson,
// org.redisson.RedissonPermitExpirableSemaphore. locklab, docs/decisions/0008-redis-queue.md.

// maxPermits is more than any queue can serve in time.
const maxPermits = 1 << 20

// A Semaphore is a lock with several holders, each with one of its permits. They are given in
// order of arrival, to all clients that use the same name on the same server. It can be locked
// again after any error.
//
// # Fencing
//
// A token is greater than the tokens of all earlier permits, but a resource cannot refuse a
// paused holder by it: a merely slow one also has a smaller token than later holders.
type Semaphore struct{ *queue }

// Semaphore returns the semaphore with that name and number of permits, on which all clients
// must agree; see [Client.Mutex] on names.
func (c *Client) Semaphore(name string, permits int, o Options) *Semaphore {
	s := &Semaphore{c.shared(name, o, permits)}
	if s.err == nil && (permits < 1 || permits > maxPermits) {
		s.err = fmt.Errorf("%w: a semaphore of %d permits: want 1 to %d", ErrUsage, permits, maxPermits)
	}
	return s
}

// Lock waits for a permit until ctx ends, in order of arrival: see [Mutex.Lock].
func (s *Semaphore) Lock(ctx context.Context) (*Lease, error) { return s.queue.Lock(ctx) }
