package redislock

import (
	"context"
	"math"
)

// An RWMutex is a [Mutex] with readers, which hold the lock together. Readers and writers
// wait in one queue: a reader waits for the writers ahead of it, and a writer for
// every waiter ahead, so that neither starves. Readers that stand next to each
// other are admitted together, by one request of the one that leaves. See shared
// in share.go for how the server keeps it.
//
// Two requests alone, for readers and writers, whatever the number of readers
// inside; three for each acquisition behind others.
//
// Redisson's RReadWriteLock keeps readers in a hash with a key for each hold, so
// that the release of one looks at all others; and its readers and writers poll or
// wake up together, in no order.
//
// # References
//
// Courtois, Heymans, Parnas, "Concurrent Control with 'Readers' and 'Writers'",
// Communications of the ACM 14(10), 1971, which asks for one or the other
// priority. doi:10.1145/362759.362813.
// Redisson, org.redisson.RedissonReadLock and RedissonWriteLock.
// locklab, docs/decisions/0008-redis-queue.md.

// An RWMutex is a lock between all clients that use the same name on the same server,
// which writers hold alone and readers share. Both are served in order of
// arrival. It can be locked again after any error. It is not reentrant: a reader
// that locks it again may wait for a writer that waits for the reader.
//
// # Fencing
//
// A token is greater than those of all that were admitted before, reader or
// writer. Readers that share the lock reach a resource in any order, so it
// remembers two numbers, the greatest token it has seen and the greatest of a
// writer. It lets a writer in whose token is not less than the first, and a reader
// whose token is not less than the second.
type RWMutex struct{ write, read *Mutex }

// RWMutex returns the lock with that name; see [Client.Mutex] on names, and on making it for
// every call.
func (c *Client) RWMutex(name string, o Options) *RWMutex {
	return &RWMutex{c.shared(name, o, 1), c.shared(name, o, math.MaxInt32)}
}

// Name returns the key of the lock.
func (m *RWMutex) Name() string { return m.write.Name() }

// Lock waits for the lock as a writer, see [Mutex.Lock].
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) { return m.write.Lock(ctx) }

// RLock waits for the lock as a reader, see [Mutex.Lock].
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) { return m.read.Lock(ctx) }

// TryLock takes the lock as a writer if it is free and has no waiters. The
// error wraps ErrNotAcquired if it cannot.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) { return m.write.TryLock(ctx) }

// TryRLock takes the lock as a reader if no writer holds it and it has no
// waiters. The error wraps ErrNotAcquired if it cannot.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) { return m.read.TryLock(ctx) }

// RLocker returns m as its readers see it, for [Do] and [Locker].
func (m *RWMutex) RLocker() Lockable { return m.read }
