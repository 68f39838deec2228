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
