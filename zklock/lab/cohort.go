package lab

import (
	"context"

	"locklab/harness"
	"locklab/zklock"
)

// twoLevel is [zklock.Cohort] without hand-overs: the goroutines of a client queue in
// memory, and each that comes to the front takes a ticket at the servers, so
// that the client has one there and not one for every goroutine. The holder
// releases in the reverse order: the distributed lock first, then the local one.
//
// Does a busy client starve the others if it releases the local lock first? No,
// in neither order, since the servers serve tickets in order of arrival and a
// client has one at a time. With 49 goroutines in one client and one in another,
// the lone one had 49 % of the acquisitions in both orders; with 25 and 25, each client
// had half and Jain's index was 100. Local first saves a part of a round trip:
// it was 1.24 times as fast in the median of five pairs (0.84 to 1.60).
//
// Hand-overs do move the balance: the lone goroutine has one hold for each tenure
// of the others, 17 % with 4 hand-overs, 5.4 % with 16, 1.8 % with 64. It does
// not wait longer for that: 130, 205 and 114 ms at worst, against 140 and 190 ms
// without. Two clients that both have goroutines enough share alike again, 25 and
// 25 at 9,400, 19,700 and 55,000 acquisitions a second.
// (go test ./zklock -run - -bench Shares -benchtime 1x; two busy shared cores.)
//
// A known implementation, Alibaba's DistributedReentrantLock, gets three things
// wrong that this one does not: its tryLock keeps the local lock when the
// distributed one is taken, its first unlock of a nested lock frees the
// distributed one, and an unlock that fails keeps the local one for ever.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedReentrantLock.java.
var twoLevel = &harness.Variant{
	Name:   "zk-two-level",
	Doc:    "goroutines of a client queue in memory, the first takes a ticket; the distributed lock is released first",
	Paper:  "otter DistributedReentrantLock",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remoteCohort(zklock.CohortOptions{Handovers: -1}),
}

// localFirst is [twoLevel] with the other order of release.
var localFirst = &harness.Variant{
	Name:   "zk-two-level-local-first",
	Doc:    "zk-two-level where the next goroutine may queue before the last one's ticket is gone",
	Paper:  "otter DistributedReentrantLock",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remoteCohort(zklock.CohortOptions{Handovers: -1, LocalFirst: true}),
}

// remoteCohort returns the constructor of a variant that is a Cohort.
func remoteCohort(o zklock.CohortOptions) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return remote(func(c *zklock.Client, path string, _ zklock.Options) locker { return c.Cohort(path, o) })
}
