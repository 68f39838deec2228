package chaos

import "slices"

// Suite lists every scenario: those that happen to clients, to connections, to
// servers of Redis, to those of ZooKeeper, and those of single locks.
var Suite = slices.Concat(clientScenarios, connScenarios, cutScenarios, noiseScenarios, waiterScenarios, readerScenarios, redissonScenarios, redisScenarios, clusterScenarios, zooScenarios, hazardScenarios)

// Patterns of the names of locks that expectations share.
const (
	remoteLocks = "zk-.*|redis-.*|go-zookeeper-lock|curator-.*|redsync.*|bsm-redislock-.*|rueidislock.*"

	// zooLocks keep ephemeral tickets, which go with the session of their client.
	zooLocks = "zk-.*|go-zookeeper-lock|curator-.*"
)
