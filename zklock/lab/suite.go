package lab

import (
	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/zklock"
)

// Suite lists the locks of package zklock and of this package.
var Suite = adapt.OnServers(harness.ZooKeeper, harness.KindZooKeeper, []*harness.Variant{
	{
		Name:       "zk-handoff",
		Doc:        "queue of ephemeral tickets, the event of the release is the next one's lock",
		Paper:      "Hunt, Konar, Junqueira & Reed 2010",
		Complexity: harness.Queued,
		Traits:     harness.Traits{FIFO: true, Fenced: true},
		Remote:     remote((*zklock.Client).Mutex),
	},
	fair,
	{
		Name:   "zk-curator",
		Doc:    "the protocol of Curator's InterProcessMutex: the queue of zk-fair, and its owner may take it again",
		Paper:  "Apache Curator 5.4.0, InterProcessMutex",
		Traits: harness.Traits{FIFO: true, Reentrant: true, Fenced: true},
		Remote: owners(func(c *zklock.Client, path string) func() locker {
			m := c.Reentrant(path, zklock.Options{})
			return func() locker { return m.Owner() }
		}),
	},
	herd,
	{
		Name:       "zk-rw",
		Doc:        "queue of readers and writers, a reader watches the nearest writer ahead, and a writer hands over",
		Paper:      "Hunt, Konar, Junqueira & Reed 2010",
		Complexity: harness.Queued,
		Traits:     harness.Traits{FIFO: true, ReadWrite: true, Fenced: true},
		Remote:     remote((*zklock.Client).RWMutex),
	},
	rwCurator,
	{
		Name:       "zk-semaphore",
		Doc:        "queue of tickets whose first two hold, only the first waiter watches them",
		Paper:      "Apache Curator 5.4.0, LockInternals",
		Complexity: harness.Queued,
		Traits:     harness.Traits{FIFO: true, Permits: permits, Fenced: true},
		Remote: remote(func(c *zklock.Client, path string, o zklock.Options) locker {
			return c.Semaphore(path, permits, o)
		}),
	},
	{
		Name:   "zk-semaphore-v2",
		Doc:    "the protocol of Curator's InterProcessSemaphoreV2: a mutex around two leases",
		Paper:  "Apache Curator 5.4.0, InterProcessSemaphoreV2",
		Traits: harness.Traits{FIFO: true, Permits: permits, Fenced: true},
		Remote: remote(func(c *zklock.Client, path string, o zklock.Options) locker {
			return c.SemaphoreV2(path, permits, o)
		}, "/locks", "/leases"),
	},
	{
		Name:       "zk-multi",
		Doc:        "two mutexes, taken in the order of their paths and released in reverse",
		Paper:      "Coffman, Elphick & Shoshani 1971",
		Complexity: harness.Composed,
		Traits:     harness.Traits{FIFO: true, Fenced: true},
		Remote: remote(func(c *zklock.Client, path string, _ zklock.Options) locker {
			return c.Multi([]string{path + "/b", path + "/a"}, zklock.MultiOptions{})
		}, "/a", "/b"),
	},
	twoLevel,
	localFirst,
	cohort("zk-cohort", "one ticket for all goroutines of a client, which hand the lock on up to 16 times",
		"Dice, Marathe & Shavit 2012", harness.Composed, zklock.CohortOptions{}),
	poll,
	persistent,
	writeLock,
	booleanMutex,
	fairHistorical,
	writeLockHistorical,
	booleanMutexHistorical,
	twoLevelHistorical,
})

const permits = 2
