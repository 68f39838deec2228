package hardware

import "locklab/atomics"

type casBody struct {
	name   string
	single bool // no interrupt can split it: one instruction, or a store that fails after an interrupt
	atomic bool // no other CPU can come in between either

	// add tries attempts times, at least 1, to raise *p by one: it loads *p, then does
	// the compare-and-swap. It returns the number of reported successes.
	add func(p *uint64, attempts uint64) (won uint64)

	// lock takes and frees the spin lock in s, limit times, or until it was held patience
	// times in a row. Inside, it uses s as at guarded, with iterations of an empty loop. It
	// returns the entries, and the number that met another thread. id is unique, and id, limit and
	// patience are not 0.
	lock func(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
}

// guarded is a spin lock and its data, each in its own line. The thread inside writes its id
// to owner, adds one to counter by plain instructions, waits, and checks owner.
type guarded struct {
	word    uint64
	_       atomics.CacheLinePad
	owner   uint64
	_       atomics.CacheLinePad
	counter uint64
	_       atomics.CacheLinePad
}

// holdIterations is the time of a thread inside: longer than a store takes to leave the store
// buffer. Otherwise two threads inside could each read back their own id and not notice.
const holdIterations = 100
