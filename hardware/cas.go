package hardware

import "locklab/atomics"

// A casBody is one way to write "if the word holds what I saw, replace it".
type casBody struct {
	name   string
	single bool // an interrupt cannot split it: one instruction, or a store that fails after one
	atomic bool // no other CPU can come between either

	// add tries attempts times to raise *p by one: it loads *p, then does the
	// compare-and-swap. It returns how often that said it did. attempts > 0.
	add func(p *uint64, attempts uint64) (won uint64)

	// lock takes and frees the spin lock in s, limit times. It gives up when it
	// found the lock held patience times in a row. Inside it does what guarded
	// says, for about so many iterations of an empty loop. It returns how often
	// it was inside, and how often it found there that another thread was too.
	// id is not 0 and differs between threads; limit and patience are not 0.
	lock func(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
}

// guarded is a spin lock and what it guards, each in a line of its own. The thread
// inside writes its id to owner and one more to counter, with plain
// instructions, waits, and checks whether owner still is its id.
type guarded struct {
	word    uint64
	_       atomics.CacheLinePad
	owner   uint64
	_       atomics.CacheLinePad
	counter uint64
	_       atomics.CacheLinePad
}

// holdIterations is how long a thread stays inside: longer than a store takes to
// leave the store buffer, or two threads inside would each read back their own
// id and not notice.
const holdIterations = 100
