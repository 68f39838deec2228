// Package peers drives unmodified locks of other authors, for comparison. Each file adapts one
// and documents the additions. Other languages run in a child process: docs/external-peers.md.
package peers

import "locklab/harness"

// Suite lists every peer.
var Suite = []*harness.Variant{
	goZooKeeper,
	curatorMutex,
	curatorMutexShared,
	curatorSemaphoreMutex,
	curatorRW,
	redsyncDefault,
	redsync1ms,
	bsm100ms,
	bsm1ms,
	bsmExp,
	rueidisPush,
	rueidisMajority,
	rueidisPoll,
}
