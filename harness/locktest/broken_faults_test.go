package locktest

// A fault is one mistake of memoryServer's lock; the empty fault is a correct lock.
// Published distributed locks have made each of these mistakes.
type fault string

const (
	none              fault = "none"
	grantsAll         fault = "grants-all"          // Lock does not wait
	grantsAtRandom    fault = "grants-too-early"    // sometimes the lock is granted while it is held
	losesWakeUps      fault = "loses-wake-ups"      // sometimes a release notifies no waiter
	servesLast        fault = "serves-last"         // the queue is a stack
	leavesTicket      fault = "leaves-ticket"       // a waiter that gives up stays in the queue
	dropsGrant        fault = "drops-grant"         // a waiter that gives up at the moment of the grant keeps it
	ignoresContext    fault = "ignores-context"     // Lock waits on when its context ends
	hidesContextError fault = "hides-context-error" // Lock returns its own error
	takesWhenEnded    fault = "takes-when-ended"    // Lock takes a free lock under a context that has ended
	staleUnlockFrees  fault = "stale-unlock-frees"  // any Unlock frees the lock, though it returns ErrNotHeld
	doubleUnlockNil   fault = "double-unlock-nil"   // the second Unlock reports success
	unlockObeysCtx    fault = "unlock-obeys-ctx"    // Unlock does nothing under a context that has ended
	doneStaysOpen     fault = "done-stays-open"     // Done is never closed
	doneIsClosed      fault = "done-is-closed"      // Done is closed from the beginning
	errStaysNil       fault = "err-stays-nil"       // Err is nil after Unlock
	tokenStays        fault = "token-stays"         // all tokens are equal
	tokenOfArrival    fault = "token-of-arrival"    // the token is drawn at the request, and waiters are served in another order
	tryWaits          fault = "try-waits"           // TryLock waits like Lock
	tryHidesReason    fault = "try-hides-reason"    // TryLock does not wrap ErrNotAcquired
	tryStays          fault = "try-stays"           // TryLock joins the queue and leaves
	clientLeaks       fault = "client-leaks"        // a client leaves a goroutine behind
	timerLeaks        fault = "timer-leaks"         // a client leaves a goroutine behind that a timer started
	closeEndsAll      fault = "close-ends-all"      // closing a session ends its client
	onePermitMore     fault = "one-permit-more"     // a semaphore lets in one more than it claims
	onePermitLess     fault = "one-permit-less"     // a semaphore lets in one less than it claims
	waitsForItself    fault = "waits-for-itself"    // a reentrant lock waits for its own holder
	freesAtFirst      fault = "frees-at-first"      // a reentrant lock is free after the first of two Unlocks
	ownerIsClient     fault = "owner-is-client"     // a reentrant lock lets in every worker of its owner's client
)

// Faults that appear with many waiters, or after some time.
const (
	eightPlaces          fault = "eight-places"            // a ninth waiter is forgotten
	losesFewWakeUps      fault = "loses-few-wake-ups"      // one release of 50 wakes no waiter
	forgetsSleepers      fault = "forgets-sleepers"        // a waiter of half a second is not notified
	leaseSeldomDead      fault = "lease-seldom-dead"       // one lease of ten is over when it is granted
	doneSeldomOpen       fault = "done-seldom-open"        // Done of one lease of ten is never closed
	tokenOfEightBits     fault = "token-of-eight-bits"     // 255 is followed by 0
	grantsLateInLife     fault = "grants-late-in-life"     // after 200 grants it excludes nobody
	starvesOne           fault = "starves-one"             // worker 3 is served when no other waits
	lastBeyondEight      fault = "last-beyond-eight"       // with more waiters the last is served first
	trySeldomTakes       fault = "try-seldom-takes"        // one TryLock of 40 takes a held lock
	leavesTicketOfThirty fault = "leaves-ticket-of-thirty" // every 30th waiter that gives up stays in the queue
	leaksOfThirty        fault = "leaks-of-thirty"         // every 30th wait that is given up costs a permit
	countsToThree        fault = "counts-to-three"         // readers beyond the third are not counted
)

// Faults of locks for readers and writers.
const (
	readersUnclaimed   fault = "readers-unclaimed"    // sessions have RLock, but the traits do not claim it
	readersMissing     fault = "readers-missing"      // sessions have no RLock
	readerWalksIn      fault = "reader-walks-in"      // RLock does not wait for a writer
	readerSlipsIn      fault = "reader-slips-in"      // sometimes RLock does not wait for a writer
	writerWalksIn      fault = "writer-walks-in"      // Lock does not wait for readers
	firstReaderFrees   fault = "first-reader-frees"   // the first reader to leave lets a writer in
	readersExclude     fault = "readers-exclude"      // a reader waits for other readers
	writersStarve      fault = "writers-starve"       // a reader joins others although a writer waits
	readerLeavesTicket fault = "reader-leaves-ticket" // a reader that gives up stays in the queue
	readerDropsGrant   fault = "reader-drops-grant"   // a reader that gives up at the moment of the grant keeps it
	gateStaysShut      fault = "gate-stays-shut"      // a writer that gives up leaves the readers behind it waiting
	staleReaderFrees   fault = "stale-reader-frees"   // a reader's second Unlock ends another hold
	readerTokensBehind fault = "reader-tokens-behind" // readers have a token less than the previous writer's
	readersTakeNext    fault = "readers-take-next"    // readers have the token of the next writer
)
