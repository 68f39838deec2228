// Package lab is package redislock as the lab sees it: [Suite], a
// [harness.Variant] for every lock, and adapters that turn a [harness.Endpoint] into
// a client, and the errors and leases of the library into those of the lab.
//
// It also has the locks that are not for programs, one file each, on the plain client
// library: redis-token, which shows the price of the other locks' safety; and
// redis-redisson12, redis-fair-redisson, redis-rw-redisson, redis-renewals-redisson,
// redis-unsafe, redis-setnx and redis-wait, which show published bugs.
//
// Rank 3. It imports redislock, harness, internal/adapt, internal/lease and
// internal/wire/redis, and must never import anything that runs, tests or measures a
// lock.
package lab
