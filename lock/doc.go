// Package lock contains what packages zklock and redislock share: the interface of a
// lease, [Do], [Elect] and [Locker] on top of it, the errors that both return, and one
// [Trace] for the locks of both.
package lock
