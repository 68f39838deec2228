package catalog

import (
	"slices"

	"locklab/harness"
	mutexlab "locklab/mutex/lab"
	"locklab/peers"
	redislab "locklab/redislock/lab"
	spinlab "locklab/spinlock/lab"
	zklab "locklab/zklock/lab"
)

// All lists every variant, family by family, in chart order.
func All() []*harness.Variant {
	return slices.Concat(spinlab.Suite, mutexlab.Suite, zklab.Suite, redislab.Suite, peers.Suite)
}

// Defaults are the locks measured by default, one for each idea. Others are variations or have
// another purpose: cohorts need more workers than clients.
var Defaults = []string{
	"tas", "ttas", "ttas-backoff", "ticket", "twa", "mcs", "clh", "hapax", "reciprocating", "cohort", "fissile",
	"empty", "sync-mutex", "mutex", "chan", "semaphore", "futex",
	"sync-rwmutex", "rw-mutex", "phase-fair", "xsync-rbmutex", "seqlock",
	"zk-handoff", "zk-fair", "zk-herd",
	"redis-queue", "redis-reentrant", "redis-poll-5ms", "redis-pubsub", "redis-token",
	"go-zookeeper-lock", "redsync-1ms", "bsm-redislock-1ms", "rueidislock-majority",
}
