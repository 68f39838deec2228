// Package lock contains what packages zklock and redislock share: the interface of a
// lease, [Do], [Elect] and [Locker] on top of it, the errors that both return, one [Trace] for
// the locks of both, the [Contender] that their Holders and Waiters return, the [Limit] of
// their MaxHold, and [Turns], the local queue of their cohort locks.
package lock
