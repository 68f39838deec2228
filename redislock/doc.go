// Package redislock is mutual exclusion between processes, kept by one Redis
// server: a lock with a lease, cancellable, without orphaned keys, and honest
// about losing a lock.
//
//	client := redis.NewClient(&redis.Options{Addr: "redis:6379"})
//	defer client.Close()
//
//	m := redislock.New(client, "locks:reindex", redislock.Options{Lease: time.Minute})
//	err := redislock.Do(ctx, m, func(ctx context.Context, lease *redislock.Lease) error {
//		return reindex(ctx) // ctx ends if the lock is lost
//	})
//
// # What it promises
//
// The lock is one key with a random value and a time to live. While the server
// keeps its data, at most one lease is within its Deadline: the time is counted
// from before the request was sent, less clock drift. Past the deadline the
// lock is lost, Done is closed, and somebody else may have it. A holder that
// may be paused for longer, by a debugger, a hypervisor or a garbage collector,
// and does harm after it, needs a lock with fencing tokens; this one has none.
//
// A server that restarts without its data, or a replica that is promoted
// before it has the key, gives the lock away a second time. Where that is not
// acceptable use a lock kept by consensus, such as package zklock.
//
// Waiters poll, and whoever asks first after a release gets the lock: there is
// no order, and the holder that comes back at once tends to win.
//
// # Lost replies
//
// A request may fail after it has taken effect. Acquiring is therefore a
// script that knows its own nonce again, so that a repetition, by this package
// or by the client library, does not mistake its own key for somebody else's;
// and a Lock that gives up in doubt deletes the key if it carries its nonce. A
// request that the network holds back until after that can still make a key,
// which ends with its lease.
//
// # Contexts
//
// Each Lock and Unlock runs its requests in a goroutine, which the caller
// stops waiting for when its context ends, whatever the client's settings are.
// What is left to do, at most deleting the own key, goes on there, and ends
// after two seconds or the client's own timeouts.
//
// Rank 2. It imports harness, internal/lease and internal/wire, and must never
// import another family, a runner or a report.
package redislock
