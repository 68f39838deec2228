package chaos

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness/oracle"
)

var hazardNestedScenarios = table(Scenario{
	Family: "nested lock", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: zooLocks,
}, []Scenario{
	{Name: "nested-unlock", Takes: 15,
		Question: "Does the first of two Unlocks of a nested lock let others in?",
		Fault:    "none: a holder locks twice and unlocks once, while another client waits",
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
		Question: "Does a writer that goes on as a reader keep other writers out?",
		Fault:    "none: a writer locks for reading too and unlocks what it took to write, while another writer waits",
		Source:   "CURATOR-621: InterProcessReadWriteLock before 5.5.0",
		Locks:    "zk-rw-curator|curator-rw",
		Expect: []Expectation{
			{"curator-rw", []oracle.Anomaly{oracle.TwoHolders}, "before 5.5.0 the ticket of its reading is younger than the ticket of the waiting writer"},
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

var hazardNodeScenarios = table(Scenario{
	Family: "ZooKeeper node", Deadline: 90 * time.Second, Prompt: hazardPrompt, Tries: 100, Locks: zooLocks,
}, []Scenario{
	{Name: "foreign-child", Takes: 11,
		Question: "Does a node that is no ticket, beside the tickets, block the lock?",
		Fault:    "an operator makes a node called 0-foreign where the lock has its tickets",
		Source:   "Curator issue 564, Netflix/curator 29; go-zookeeper v1.0.4, parseSeq",
		Expect: []Expectation{
			{"go-zookeeper-lock|zk-fair-historical", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.LeftBehind, oracle.Misled}, "it cannot read a number from the name, and every Lock fails"},
			{"curator-.*", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it takes every node for a ticket, and this one sorts first or counts as a lease"},
			{".*", nil, "it looks only at names that are those of its tickets"},
		},
		Try: queues(func(ctx context.Context, q *queue) {
			w := q.open(ctx)
			other := q.open(ctx)
			check(w.Acquire(ctx, 0))
			dirs := slices.DeleteFunc(must(below(q.see, q.s.path())), ticketName.MatchString)
			check(w.Release(ctx))
			for _, dir := range dirs {
				// It disappears with the session at the end of the try.
				must(q.see.Create(dir+"/0-foreign", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
			}
			q.s.Fault("a foreign node is made")
			for _, w := range []*Worker{w, other} {
				if q.locks(ctx, w) {
					continue
				}
				if n := len(q.tickets()); n > 0 {
					q.s.Show(oracle.LeftBehind, "%d tickets of calls that have failed", n)
				}
			}
		}),
	},
})
