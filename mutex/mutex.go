package mutex

import "locklab/harness"

// Suite is the table of contents of this package: the control first, then
// locks, simplest first.
var Suite = []*harness.Variant{
	empty,
	channel,
	syncMutex,
}
