package spinlock

import "locklab/harness"

// Suite is the table of contents of this package, simplest first.
var Suite = []*harness.Variant{
	tas,
	ttas,
	backoff,
	ticket,
	mcs,
	clh,
}
