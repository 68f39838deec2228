package redislock

import (
	"context"
	"fmt"
	"math"
	"strconv"
)

// shared returns the queue of a [Mutex] for a lock with several holders. A waiter with a
// limit holds it together with at most limit - 1 others, if their limits agree:
//
//   - The holders are a sorted set by the end of their time, so each has a separate lease, and
//     each script removes expired ones.
//   - A leaving waiter or holder admits the first waiters as long as they fit, each with its
//     token and a notification to its mailbox. No waiter passes one that does not fit: no kind
//     starves another.
//   - Each waiter asks again when the first lease of the holders ends.
//
// The server's cost of a release grows with the logarithm of the number of holders, and
// with the number of admitted waiters.
func (c *Client) shared(name string, o Options, limit int) *queue {
	m := c.queue(name, o)
	m.kind = sharing
	m.kind.tag = ":" + strconv.Itoa(limit)
	m.keys = append(m.keys, companion(name, "tokens"))
	return m
}

var sharing = queueKind{
	acquire: newScript("needs", "grant", "share", "share_acquire"),
	seize:   newScript("grant", "share", "share_seize"),
	release: newScript("grant", "share", "share_release"),
	free:    newScript("grant", "share", "share_free"),
	renew:   newScript("grant", "share", "share_renew"),
	check:   newScript("grant", "share", "share_check"),
	pass:    newScript("grant", "share", "share_pass"),
	force:   newScript("grant", "share", "share_force"),
	holders: newScript("grant", "share", "share_holders"),
}.complete()

// An RWMutex is a [Mutex] with readers, which hold the lock together. Readers and writers wait
// in one queue: a reader waits for the writers ahead of it, and a writer for every waiter
// ahead, so neither starves. Adjacent readers are admitted together, by one request of the
// leaving holder. [Client.shared] describes the server's data.
//
// An uncontended acquisition takes two requests, for any number of readers inside; one behind
// others takes three.
//
// Redisson's RReadWriteLock keeps readers in a hash with a key for each hold, so one release
// inspects all others. Its readers and writers poll or wake up together, in no order.
//
// # References
//
// Courtois, Heymans, Parnas, "Concurrent Control with 'Readers' and 'Writers'", Communications
// of the ACM 14(10), 1971, which gives priority to one side. doi:10.1145/362759.362813.
// Redisson, org.redisson.RedissonReadLock and RedissonWriteLock. locklab,
// docs/decisions/0008-redis-queue.md.

// An RWMutex is a lock between all clients that use the same name on the same server, held
// by one writer or shared by readers. Both are served in order of arrival. It can be locked
// again after any error. It is not reentrant: a reader that locks it again may wait for a
// writer that waits for the reader.
//
// # Fencing
//
// A token is greater than the tokens of all that were admitted before, readers and writers.
// Readers that share the lock reach a resource in any order. So the resource remembers two
// numbers: the greatest token it has seen, and the greatest of a writer. It accepts a writer
// whose token is not less than the first, and a reader whose token is not less than the second.
type RWMutex struct {
	*queue // of the writers
	read   *queue
}

// RWMutex returns the lock with that name; see [Client.Mutex] for names and reuse.
func (c *Client) RWMutex(name string, o Options) *RWMutex {
	return &RWMutex{c.shared(name, o, 1), c.shared(name, o, math.MaxInt32)}
}

// Lock waits for the lock as a writer, see [Mutex.Lock].
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.queue.Lock(ctx) }

// RLock waits for the lock as a reader, see [Mutex.Lock].
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.read.Lock(ctx) }

// TryRLock takes the lock as a reader if no writer holds it and no client waits. Otherwise the
// error wraps ErrNotAcquired.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) { return m.read.TryLock(ctx) }

// RLocker returns the read side of m for [Do] and [Locker].
func (m *RWMutex) RLocker() Lockable { return m.read }

// A Semaphore is a [Mutex] with several permits, given in order of arrival. Each permit has a
// separate lease by the clock of the server: a dead holder keeps its permit no longer than
// that. [Client.shared] describes the server's data.
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
