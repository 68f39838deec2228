package atomics

// The states of a Parker.
const (
	parkerEmpty  = 0
	parkerPermit = 1
	parkerParked = 1<<32 - 1 // parkerEmpty - 1
)

// A Parker lets one goroutine, its owner, sleep until another one wakes it. It
// holds at most one permit: Unpark puts it there, Park takes it away. It is
// what a lock that blocks is made of, in place of a channel or a futex, because
// a schedule explorer can see it (build tag systematic). Make one with
// [NewParker]; it must not be copied.
//
// Park of a waiting permit, and Unpark of an owner that is awake, are one atomic
// instruction each. Only a real sleep goes through the Go scheduler. Neither
// allocates. The owner may be locked to its thread ([runtime.LockOSThread]),
// where a wake-up costs tens of microseconds instead of a quarter of one.
//
// # Memory ordering
//
// Every Unpark synchronizes before the return of the Park that takes its
// permit, also an Unpark that found a permit there already. So an owner that
// was unparked sees what the other goroutine did before, whatever it stored
// with. A goroutine that checks whether there is an owner to unpark must not
// have freed the lock by [Uint32.StoreRelease]: see there.
//
// The protocol is that of thread parking in Rust's standard library
// (library/std/src/sys/sync/thread_parking/futex.rs), with a channel in place
// of the futex.
type Parker struct {
	state  Uint32 // parkerEmpty, parkerPermit or parkerParked
	wakeup semaphore
}

// NewParker returns a parker without a permit.
func NewParker() *Parker { return &Parker{wakeup: newSemaphore()} }

// Park takes the permit, and waits for one if there is none. It never returns
// without. Only the owner may call it: two goroutines in Park are undefined.
func (p *Parker) Park() {
	if p.state.Add(^uint32(0)) == parkerEmpty {
		return // there was a permit
	}
	p.wakeup.acquire()
	// Permits given from here on are one with the permit that ended the sleep.
	p.state.Swap(parkerEmpty)
}

// Unpark gives the permit if it is not there yet, and wakes the owner if it
// sleeps in Park. It never waits.
func (p *Parker) Unpark() {
	if p.state.Swap(parkerPermit) == parkerParked {
		p.wakeup.release()
	}
}
