package spinlock

import "locklab/harness"

// Suite is the table of contents of this package, simplest first.
var Suite = []*harness.Variant{
	tas,
	tasXchg,
	ttas,
	backoff,
	ticket,
	ticketProp,
	twa,
	anderson,
	mcs,
	k42,
	clh,
	hapax,
	hemlock,
	reciprocating,
	malthusian,
	fissile,
	cohort,
	peterson, petersonNoFence,
	bakery, bakeryNoFence,
}
