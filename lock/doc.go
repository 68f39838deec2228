// Package lock contains the shared parts of packages zklock and redislock: the interface of a
// lease, [Do], [Elect] and [Locker] on top of it, the errors, [Trace], [Contender], the
// [Limit] of MaxHold, and [Turns], the local queue of cohort locks.
package lock
