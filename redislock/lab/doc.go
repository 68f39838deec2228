// Package lab adapts package redislock for the lab: [Suite] has a [harness.Variant] for
// every lock, and adapters turn a [harness.Endpoint] into a client, and the errors and
// leases of the library into the lab's.
//
// It also has locks that are not for production use, one file each, on the plain client
// library. redis-token shows the price of the other locks' safety. redis-redisson12,
// redis-fair-redisson, redis-rw-redisson, redis-renewals-redisson, redis-unsafe,
// redis-setnx and redis-wait show published bugs.
//
// Rank 3. It imports redislock, harness, internal/adapt, lock and
// internal/wire/redis, and must never import anything that runs, tests or measures a lock.
package lab
