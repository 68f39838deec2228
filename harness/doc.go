// Package harness is the contract between the locks and the packages that run, test,
// measure or draw them. It declares types and validates their values:
//
//   - a [Variant] describes one lock: its name, source, claims and constructor;
//   - a constructor returns a [Local], a lock inside one process, or a [Remote],
//     one client's view of a distributed lock;
//   - a [Workload] describes how hard the lock is driven.
//
// The outcome of a round is in package result.
package harness

import "locklab/lock"

// Errors that every remote lock wraps, so that callers can handle any lock alike. They are the
// errors of package lock, which the libraries wrap.
var (
	ErrNotHeld     = lock.ErrNotHeld     // Unlock of a lease that was lost or released
	ErrNotAcquired = lock.ErrNotAcquired // TryLock while another worker holds the lock
	ErrLost        = lock.ErrLost        // Lease.Err: the lease ended without Unlock
	ErrReleased    = lock.ErrReleased    // Lease.Err: Unlock was called
	ErrUnavailable = lock.ErrUnavailable // no server, or no tool to start one: skip, and give the reason
	ErrUsage       = lock.ErrUsage       // the user's input is wrong: one line, exit status 2
)
