package zklock

// A Reentrant is a [Mutex] whose owner may take it again. Curator's InterProcessMutex can
// contend for the same path, and so can a Mutex, but their tokens must not be compared.
//
// It follows the protocol of Curator's InterProcessMutex: a queue in which each waiter watches
// the ticket ahead, and an owner in the client that may take the lock again.
//
//  1. An owner that holds the lock takes it again without a request.
//  2. Else create a ticket called _c_<unique>-lock-<number>. If the reply is lost, find the
//     ticket by its unique part.
//  3. List the tickets. The owner of the lowest holds the lock.
//  4. Watch the next lower ticket by getData. If it is gone already, go to 3.
//  5. When the watch fires, go to 3. When the time is up, delete the own ticket.
//  6. Delete the ticket when the owner has unlocked as often as it has locked.
//
// Acquire and release take three requests alone, five and one watch event behind others, and
// none for taking it again. In Curator the owner is a thread, and each release wakes all threads
// that wait with one InterProcessMutex. Here an owner is a value, and each waits separately.
//
// Each Lock returns a separate lease. All leases of one acquisition have the same token and are
// lost together. The lock is given back when the last of them is unlocked, in any order.
//
// # References
//
// Apache Curator 5.4.0, org.apache.curator.framework.recipes.locks, InterProcessMutex and
// LockInternals.
type Reentrant struct{ queue }

// Reentrant returns the lock at path. See [Client.Mutex] on paths.
func (c *Client) Reentrant(path string, o Options) *Reentrant {
	return &Reentrant{newQueue(c, path, o)}
}

// Owner returns a new owner, which may take the lock again while it holds it: for a goroutine,
// for a request if it is passed on in the context, or for all goroutines of a client.
func (m *Reentrant) Owner() *Owner {
	return newOwner(&m.queue, func() *ticket { return newTicket(&m.queue, fairQueue) })
}
