package peers

import "locklab/harness"

// Suite lists every peer.
var Suite = []*harness.Variant{
	goZooKeeper,
	curatorMutex,
	curatorMutexShared,
	curatorSemaphoreMutex,
	curatorRW,
}
