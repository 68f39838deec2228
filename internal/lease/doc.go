// Package lease is what every lock kept by servers offers on top of a lease,
// written once: run a function under the lock, look like a sync.Locker, and
// honour a context with a client library that does not.
//
// Rank 1. It imports harness, and must not import a lock or a client library.
package lease
