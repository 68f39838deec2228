// Package lease is what every lock kept by servers offers on top of a lease,
// written once: run a function under the lock, lead as long as it is
// held, look like a sync.Locker, and honour a context with a client library that
// does not.
package lease
