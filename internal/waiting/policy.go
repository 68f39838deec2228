package waiting

import "fmt"

// A Policy is the behaviour of a waiter between two polls of the lock.
type Policy string

// The policies; spinlock and mutex export and document them with the prefix Wait.
const (
	Adaptive   Policy = ""
	Spin       Policy = "spin"
	Pause      Policy = "pause"
	Yield      Policy = "yield"
	SchedYield Policy = "sched-yield"
	Park       Policy = "park"
)

// Policies lists every policy, the default first.
var Policies = []Policy{Adaptive, Spin, Pause, Yield, SchedYield, Park}

// String returns the policy's name; "adaptive" for the zero value.
func (p Policy) String() string {
	if p == Adaptive {
		return "adaptive"
	}
	return string(p)
}

// A Pin is how the goroutines that use a lock are bound to threads.
type Pin string

const (
	PinNone   Pin = ""
	PinThread Pin = "thread"
	PinCPU    Pin = "cpu"
)

// Pins lists every kind of binding, the default first.
var Pins = []Pin{PinNone, PinThread, PinCPU}

// String returns the name; "none" for the zero value.
func (p Pin) String() string {
	if p == PinNone {
		return "none"
	}
	return string(p)
}

type policyError Policy

func (e policyError) Error() string { return fmt.Sprintf("locklab: unknown wait policy %q", string(e)) }

type pinError Pin

func (e pinError) Error() string { return fmt.Sprintf("locklab: unknown pin %q", string(e)) }

// Check panics unless a lock can be made for that number of workers, with this policy and pin.
func Check(workers int, p Policy, pin Pin) {
	if workers < 1 {
		panic(fmt.Sprintf("locklab: a lock for %d workers: want at least 1", workers))
	}
	New(p, pin)
}

// CheckWorker panics unless a lock for that number of workers has one with index i.
func CheckWorker(i, workers int) {
	if uint(i) >= uint(workers) {
		panic(fmt.Sprintf("locklab: worker %d of a lock for %d: want 0 to %d", i, workers, workers-1))
	}
}
