package chaos

import "slices"

// Suite lists every scenario.
var Suite = slices.Concat(clientScenarios, connScenarios, releaseScenarios, cutScenarios, noiseScenarios, waiterScenarios, readerScenarios, redissonScenarios, redisScenarios, clusterScenarios, zooScenarios, hazardScenarios)

const (
	remoteLocks = "zk-.*|redis-.*|go-zookeeper-lock|curator-.*|redsync.*|bsm-redislock-.*|rueidislock.*"

	// zooLocks keep ephemeral tickets, which end with their client's session.
	zooLocks = "zk-.*|go-zookeeper-lock|curator-.*"
)
