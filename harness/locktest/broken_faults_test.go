package locktest

import "locklab/harness"

// A fault is one mistake of memoryServer's lock; none is a correct lock.
type fault string

const none fault = "none"

// The claims of locks with faults.
var (
	lock      = harness.Traits{FIFO: true, Fenced: true}
	semaphore = harness.Traits{Permits: 2} // its holders leave in any order
	again     = harness.Traits{FIFO: true, Fenced: true, Reentrant: true}
	readWrite = harness.Traits{FIFO: true, Fenced: true, ReadWrite: true}
)

// faults are mistakes that published distributed locks have made, and the rules that find them.
var faults = []struct {
	fault  fault
	rule   string
	claims harness.Traits
}{
	{"grants-all", "exclusion", lock},                   // Lock does not wait
	{"grants-too-early", "lost-update", lock},           // sometimes the lock is granted while it is held
	{"loses-wake-ups", "liveness", lock},                // sometimes a release notifies no waiter
	{"serves-last", "fifo", lock},                       // the queue is a stack
	{"leaves-ticket", "cancel", lock},                   // a waiter that gives up stays in the queue
	{"drops-grant", "cancel", lock},                     // a waiter that gives up at the moment of the grant keeps it
	{"ignores-context", "cancel", lock},                 // Lock waits on when its context ends
	{"hides-context-error", "cancel", lock},             // Lock returns its own error
	{"takes-when-ended", "cancel", lock},                // Lock takes a free lock under a context that has ended
	{"stale-unlock-frees", "owner", lock},               // any Unlock frees the lock, though it returns ErrNotHeld
	{"double-unlock-nil", "owner", lock},                // the second Unlock reports success
	{"unlock-obeys-ctx", "unlock-cancelled", lock},      // Unlock does nothing under a context that has ended
	{"done-stays-open", "lease", lock},                  // Done is never closed
	{"done-is-closed", "lease", lock},                   // Done is closed from the beginning
	{"err-stays-nil", "lease", lock},                    // Err is nil after Unlock
	{"token-stays", "fencing", lock},                    // all tokens are equal
	{"token-of-arrival", "fencing", lock},               // the token is drawn at the request, and waiters are served in another order
	{"try-waits", "try", lock},                          // TryLock waits like Lock
	{"try-hides-reason", "try", lock},                   // TryLock does not wrap ErrNotAcquired
	{"try-stays", "try", lock},                          // TryLock joins the queue and leaves
	{"client-leaks", "close", lock},                     // a client leaves a goroutine behind
	{"timer-leaks", "close", lock},                      // a client leaves a goroutine behind that a timer started
	{"close-ends-all", "close", lock},                   // closing a session ends its client
	{"one-permit-more", "permits", semaphore},           // a semaphore lets in one more than it claims
	{"one-permit-less", "permits", semaphore},           // a semaphore lets in one less than it claims
	{"waits-for-itself", "reentrant", again},            // a reentrant lock waits for its own holder
	{"frees-at-first", "reentrant", again},              // a reentrant lock is free after the first of two Unlocks
	{"owner-is-client", "reentrant", again},             // a reentrant lock lets in every worker of its owner's client
	{"eight-places", "contenders", lock},                // a ninth waiter is forgotten
	{"loses-few-wake-ups", "wake-up", lock},             // one release of 50 wakes no waiter
	{"forgets-sleepers", "wake-up", lock},               // a waiter of half a second is not notified
	{"lease-seldom-dead", "contenders", lock},           // one lease of ten is over when it is granted
	{"done-seldom-open", "contenders", lock},            // Done of one lease of ten is never closed
	{"token-of-eight-bits", "endurance", lock},          // 255 is followed by 0
	{"grants-late-in-life", "endurance", lock},          // after 200 grants it excludes nobody
	{"starves-one", "starvation", lock},                 // worker 3 is served when no other waits
	{"last-beyond-eight", "fifo", lock},                 // with more waiters the last is served first
	{"try-seldom-takes", "try", lock},                   // one TryLock of 40 takes a held lock
	{"leaves-ticket-of-thirty", "cancel-many", lock},    // every 30th waiter that gives up stays in the queue
	{"leaks-of-thirty", "cancel-many", semaphore},       // every 30th wait that is given up costs a permit
	{"counts-to-three", "read-count", readWrite},        // readers beyond the third are not counted
	{"readers-unclaimed", "claims", lock},               // sessions have RLock, but the traits do not claim it
	{"readers-missing", "claims", readWrite},            // sessions have no RLock
	{"reader-walks-in", "read-exclusion", readWrite},    // RLock does not wait for a writer
	{"reader-slips-in", "read-exclusion", readWrite},    // sometimes RLock does not wait for a writer
	{"writer-walks-in", "read-exclusion", readWrite},    // Lock does not wait for readers
	{"first-reader-frees", "read-exclusion", readWrite}, // the first reader to leave lets a writer in
	{"readers-exclude", "readers-share", readWrite},     // a reader waits for other readers
	{"writers-starve", "writer-progress", readWrite},    // a reader joins others although a writer waits
	{"reader-leaves-ticket", "read-cancel", readWrite},  // a reader that gives up stays in the queue
	{"reader-drops-grant", "read-cancel", readWrite},    // a reader that gives up at the moment of the grant keeps it
	{"gate-stays-shut", "read-cancel", readWrite},       // a writer that gives up leaves the readers behind it waiting
	{"stale-reader-frees", "read-lease", readWrite},     // a reader's second Unlock ends another hold
	{"reader-tokens-behind", "fencing", readWrite},      // readers have a token less than the previous writer's
	{"readers-take-next", "fencing", readWrite},         // readers have the token of the next writer
}
