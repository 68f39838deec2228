package atomics

const (
	parkerEmpty  = 0
	parkerPermit = 1
	parkerParked = 1<<32 - 1 // parkerEmpty - 1
)

// A Parker lets one goroutine, its owner, sleep until another one wakes it. It holds at most
// one permit: Unpark puts it there, Park takes it away. Blocking locks use it in place of a
// channel or a futex, because a schedule explorer can see it (build tag systematic). Make one
// with [NewParker]; it must not be copied.
//
// Park of a waiting permit, and Unpark of an owner that is awake, are one atomic instruction
// each. Neither allocates. If the owner is locked to its thread, a wake-up costs tens of
// microseconds instead of a quarter of one.
//
// # Memory ordering
//
// Every Unpark synchronizes before the return of the Park that takes its permit, also an
// Unpark that found a permit there already. So an owner that was unparked sees everything that
// the other goroutine did before, with any kind of store. A goroutine that checks whether
// there is an owner to unpark must not have freed the lock by
// [Uint32.StoreRelease]: see its documentation.
//
// The protocol is taken from thread parking in Rust's standard library
// (library/std/src/sys/sync/thread_parking/futex.rs), with a channel in place of the futex.
type Parker struct {
	state  Uint32 // parkerEmpty, parkerPermit or parkerParked
	wakeup semaphore
}

// NewParker returns a parker without a permit.
func NewParker() *Parker { return &Parker{wakeup: newSemaphore()} }

// Park takes the permit, and waits for one if need be. It never returns without a
// permit. Only the owner may call it: two goroutines in Park are undefined.
func (p *Parker) Park() { p.ParkUntil(nil) }

// ParkUntil is Park that gives up when done is closed. It reports whether it took a
// permit. If it gave up, a later Unpark leaves its permit for the next Park.
func (p *Parker) ParkUntil(done <-chan struct{}) bool {
	if p.state.Add(^uint32(0)) == parkerEmpty {
		return true // there was a permit
	}
	if !p.wakeup.acquire(done) {
		if p.state.CompareAndSwap(parkerParked, parkerEmpty) {
			return false
		}
		p.wakeup.acquire(nil) // an Unpark came first, and its token is on the way
	}
	// Permits given before this Swap merge with the permit that ended the sleep.
	p.state.Swap(parkerEmpty)
	return true
}

// Unpark gives the permit if it is missing, and wakes the owner if it sleeps in Park.
// It never waits.
func (p *Parker) Unpark() {
	if p.state.Swap(parkerPermit) == parkerParked {
		p.wakeup.release()
	}
}
