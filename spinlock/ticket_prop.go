package spinlock

// ProportionalTicket is a [Ticket] lock with proportional backoff: between two
// polls a waiter stays away for a time in proportion to the number of
// goroutines that go before it. Service is first come, first served. The zero
// value is free.
//
// # Trade-offs
//
// A ticket lock tells a waiter how many are before it, which no other
// lock does, and backoff needs no guess: one with many before it polls seldom, and a
// release disturbs only the first few. The unit of the delay should be
// about the length of a section. It is fixed here, at a unit of the wait
// policy, so sections that are much shorter leave the lock idle, and much
// longer ones bring the traffic of [Ticket] back. A waiter that sleeps or
// yields does not poll, so the delay matters only while it polls.
//
// TryLock, Unlock, memory ordering and what happens with more waiters than
// processors are as for [Ticket].
//
// # References
//
// John M. Mellor-Crummey and Michael L. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", ACM Transactions on
// Computer Systems 9(1), February 1991, pages 21-65, section 2.2, algorithm 2.
// DOI 10.1145/103727.103729.
type ProportionalTicket struct{ Ticket }

// NewProportionalTicket is [NewTicket] for this lock.
func NewProportionalTicket(workers int, o Options) *ProportionalTicket {
	return &ProportionalTicket{Ticket{Wait: o.Wait, Pin: o.Pin, parkSlots: newParkSlots(workers, o)}}
}

// Lock takes the lock and waits for it if need be.
func (l *ProportionalTicket) Lock() { l.await(l.next.Add(1)-1, (*ProportionalTicket).lockSlow) }

// await is that of [Ticket].
func (l *ProportionalTicket) await(mine uint32, slow func(*ProportionalTicket, uint32)) {
	if l.serving.Load() != mine {
		slow(l, mine)
	}
}

// lockSlow is apart so that the fast path stays small.
func (l *ProportionalTicket) lockSlow(mine uint32) {
	w := l.begin(mine)
	for serving := l.serving.Load(); serving != mine; serving = l.serving.Load() {
		if !l.sleep(&w, mine) {
			w.Delay(int(mine - serving)) // the difference is right across the wrap
		}
	}
	l.keepOffer(&w)
}
