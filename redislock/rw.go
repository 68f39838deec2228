package redislock

import (
	"context"
	"math"
)

// An RWMutex is a [Mutex] with readers, which hold the lock together. Readers and writers wait
// in one queue: a reader waits for the writers ahead of it, and a writer for every waiter
// ahead, so neither starves. Adjacent readers are admitted together, by one request of the
// leaving holder. share.go describes the server's data.
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
