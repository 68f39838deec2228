package mutex

import "locklab/harness"

// futex blocks the thread in the kernel, as C programs do.
//
// # References
//
// Ulrich Drepper, "Futexes Are Tricky", Red Hat, version 1.6, November 2011:
// the classes mutex2 and mutex3. See [Futex].
var futex = &harness.Variant{
	Name:        "futex",
	Doc:         "a word in user space, and a system call to sleep on it: what C programs lock with",
	Paper:       "Drepper 2011, Futexes Are Tricky",
	Family:      harness.Blocking,
	Status:      harness.Reference,
	Unavailable: futexUnavailable,
	Local:       newFutex,
}
