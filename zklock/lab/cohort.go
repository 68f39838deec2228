package lab

import (
	"context"

	"locklab/harness"
	"locklab/zklock"
)

// twoLevel is [zklock.Cohort] without handovers: the goroutines of a client queue in memory,
// and the first takes a ticket at the servers, so the client has one ticket instead of one per
// goroutine. The holder releases the distributed lock first, then the local one.
//
// No order of release lets a busy client starve the others, since a client has one ticket at a
// time. With 49 goroutines in one client and one in another, the single one had 49 % of the
// acquisitions in both orders. Local first was 1.24 times as fast in the median of five pairs
// (0.84 to 1.60).
//
// Handovers do change the balance. The single goroutine has one hold per tenure of the others:
// 17 % with 4 handovers, 5.4 % with 16, 1.8 % with 64. Its longest waits do not grow. Two
// clients with enough goroutines have equal shares: 25 and 25 at 9,400, 19,700 and 55,000
// acquisitions/s. (Two busy shared cores.)
//
// Alibaba's DistributedReentrantLock has three faults that this one has not. Its tryLock keeps
// the local lock when the distributed one is taken. Its first unlock of a nested lock frees
// the distributed one. A failed unlock keeps the local one forever.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedReentrantLock.java.
var twoLevel = &harness.Variant{
	Name:   "zk-two-level",
	Doc:    "goroutines of a client queue in memory, the first takes a ticket; the distributed lock is released first",
	Paper:  "otter DistributedReentrantLock",
	Traits: harness.Traits{Fenced: true},
	Remote: remoteCohort(zklock.CohortOptions{Handovers: -1}),
}

// localFirst is [twoLevel] with the other order of release.
var localFirst = &harness.Variant{
	Name:   "zk-two-level-local-first",
	Doc:    "zk-two-level where the next goroutine may queue before the last one's ticket is gone",
	Paper:  "otter DistributedReentrantLock",
	Traits: harness.Traits{Fenced: true},
	Remote: remoteCohort(zklock.CohortOptions{Handovers: -1, LocalFirst: true}),
}

func remoteCohort(o zklock.CohortOptions) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return remote(func(c *zklock.Client, path string, _ zklock.Options) locker { return c.Cohort(path, o) })
}
