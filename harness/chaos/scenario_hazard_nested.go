package chaos

import (
	"context"
	"time"

	"locklab/harness/oracle"
)

var hazardNestedScenarios = table(Scenario{
	Family: "nested lock", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: zooLocks,
}, []Scenario{
	{Name: "nested-unlock", Takes: 15,
		Question: "Does the first of two Unlocks of a nested lock let others in?",
		Fault:    "none: a holder locks twice and unlocks once, while another client waits",
		NoFault:  true,
		Source:   "hazard B14: source article 004, otter DistributedReentrantLock, which deletes its ticket with the first",
		Locks:    "zk-(curator|rw-curator|two-level-historical)|curator-(mutex|mutex-shared|rw)|redis-(reentrant|redisson12|fair-redisson)",
		Expect: []Expectation{
			{"zk-two-level-historical", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "only its local lock counts: the first Unlock deletes the ticket"},
			{".*", nil, "it counts, and releases with the last Unlock"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w := q.open(ctx)
			other := q.open(ctx)
			for range 2 {
				check(w.Acquire(ctx, 0))
			}
			done := other.Begin(ctx, 0)
			q.t.Sleep(ctx, hazardDelay) // it waits
			check(w.Release(ctx))
			q.outlast(ctx, w, other, done)
		}),
	},
	{Name: "downgrade", Takes: 14,
		Question: "Does a writer that continues as a reader keep other writers out?",
		Fault:    "none: a writer locks for reading too and unlocks its write lock, while another writer waits",
		NoFault:  true,
		Source:   "CURATOR-621: InterProcessReadWriteLock before 5.5.0",
		Locks:    "zk-rw-curator|curator-rw",
		Expect: []Expectation{
			{"curator-rw", []oracle.Anomaly{oracle.TwoHolders}, "before 5.5.0 its read ticket is younger than the ticket of the waiting writer"},
			{".*", nil, "its read ticket takes the place of its write ticket"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w := q.open(ctx)
			other := q.open(ctx)
			check(w.Acquire(ctx, 0))
			done := q.waits(ctx, other)
			check(w.AcquireShared(ctx))
			check(w.ReleaseOuter(ctx))
			q.outlast(ctx, w, other, done)
		}),
	},
})

// outlast releases what w still has while other waits, and then other has the lock.
func (q *queue) outlast(ctx context.Context, w, other *Worker, done <-chan error) {
	err, came := ends(ctx, done, 2*hazardDelay)
	q.t.Sleep(ctx, 20*time.Millisecond)
	w.Release(ctx)
	if !came {
		q.passes(ctx, other, done)
	} else if err == nil {
		other.Release(ctx)
	}
}
