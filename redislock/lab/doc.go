// Package lab adapts package redislock for the lab: [Suite] has a [harness.Variant] for every
// lock, on adapters for endpoints, errors and leases.
//
// It also has locks that are not for production use, one file each, on the plain client
// library. redis-token shows the price of the other locks' safety. redis-redisson12,
// redis-fair-redisson, redis-rw-redisson, redis-renewals-redisson, redis-unsafe, redis-setnx
// and redis-wait show published bugs.
package lab
