package mutex

import "locklab/harness"

// Suite is the table of contents of this package: the control first, then
// locks, simplest first, then those with readers, and last the controls that
// are broken on purpose.
var Suite = []*harness.Variant{
	empty,
	channel,
	syncMutex,
	weighted,
	futex,
	spinThenPark,
	mcsPark,

	rwMutex,
	phaseFair,
	bravo,
	seqLock,

	bustedTAS,
	bustedHandoff,
	bustedFIFO,
	bustedRW,
}
