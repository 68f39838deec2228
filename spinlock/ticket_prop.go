package spinlock

// ProportionalTicket is a [Ticket] lock with proportional backoff: between two polls a waiter
// stays away for a time in proportion to the number of goroutines ahead of it. Service is
// first come, first served. The zero value is free.
//
// # Trade-offs
//
// Only a ticket lock shows a waiter how many are ahead of it, so backoff needs no guess. A
// waiter with many ahead of it polls seldom, and a release disturbs only the first few. The
// unit of the delay should be about the length of a critical section. Here it is a unit of the
// wait policy: shorter critical sections leave the lock idle, longer ones have the traffic of
// [Ticket]. A waiter that sleeps or yields does not poll, so the delay matters only while it
// polls.
//
// All else is as for [Ticket].
//
// # References
//
// John M. Mellor-Crummey and Michael L. Scott, "Algorithms for Scalable Synchronization on
// Shared-Memory Multiprocessors", ACM Transactions on Computer Systems 9(1), February 1991,
// pages 21-65, section 2.2, algorithm 2. DOI 10.1145/103727.103729.
type ProportionalTicket struct{ Ticket }

// NewProportionalTicket returns a free lock, as [NewTicket] does.
func NewProportionalTicket(workers int, o Options) *ProportionalTicket {
	return &ProportionalTicket{Ticket{Wait: o.Wait, Pin: o.Pin, parkSlots: newParkSlots(workers, o)}}
}

// Lock takes the lock and waits for it if need be.
func (l *ProportionalTicket) Lock() { l.await(l.next.Add(1)-1, (*ProportionalTicket).lockSlow) }

func (l *ProportionalTicket) await(mine uint32, slow func(*ProportionalTicket, uint32)) {
	if l.serving.Load() != mine {
		slow(l, mine)
	}
}

func (l *ProportionalTicket) lockSlow(mine uint32) {
	w := l.begin(mine)
	for serving := l.serving.Load(); serving != mine; serving = l.serving.Load() {
		if !l.sleep(&w, mine) {
			w.Delay(int(mine - serving)) // correct across the wrap too
		}
	}
	l.keepOffer(&w)
}
