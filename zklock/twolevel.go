package zklock

import (
	"context"

	"locklab/harness"
)

// twoLevel is [Cohort] without hand-overs: the goroutines of a client queue in
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
	Remote: remoteCohort(CohortOptions{Handovers: -1}),
}

// localFirst is [twoLevel] with the other order of release.
var localFirst = &harness.Variant{
	Name:   "zk-two-level-local-first",
	Doc:    "zk-two-level where the next goroutine may queue before the last one's ticket is gone",
	Paper:  "otter DistributedReentrantLock",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remoteCohort(CohortOptions{Handovers: -1, LocalFirst: true}),
}

// cohort is [Cohort] as a service would use it: the holder hands the lock to the
// next goroutine of its client, without a request, up to DefaultHandovers times.
//
// # References
//
// Dice, Marathe, Shavit, "Lock Cohorting: A General Technique for Designing
// NUMA Locks", PPoPP 2012, DOI 10.1145/2145816.2145848: the global lock stays
// in a cluster for a bounded number of local hand-overs. Here a cluster is a
// client.
var cohort = &harness.Variant{
	Name:   "zk-cohort",
	Doc:    "one ticket for all goroutines of a client, which hand the lock on up to 16 times",
	Paper:  "Dice, Marathe & Shavit 2012",
	Family: harness.ZooKeeper,
	Status: harness.Recommended, Complexity: harness.Composed,
	Traits: harness.Traits{Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remoteCohort(CohortOptions{}),
}

// remoteCohort returns the constructor of a Variant that is a Cohort.
func remoteCohort(o CohortOptions) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		c, err := dial(ctx, at, ClientOptions{})
		if err != nil {
			return nil, err
		}
		path := labRoot + "/" + key
		return &labCohort{labClient{c, c.Mutex(path, Options{})}, c.Cohort(path, o)}, nil
	}
}

// labCohort adapts a Client and one Cohort to the laboratory.
type labCohort struct {
	labClient
	k *Cohort
}

func (r *labCohort) Join(context.Context, int) (harness.Session, error) {
	return cohortSession{r.k}, nil
}

// cohortSession is one worker.
type cohortSession struct{ k *Cohort }

var _ harness.TrySession = cohortSession{}

func (s cohortSession) Lock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.k.Lock(ctx))
}

func (s cohortSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return leaseOf(s.k.TryLock(ctx))
}

func (cohortSession) Close() error { return nil }
