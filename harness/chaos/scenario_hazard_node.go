package chaos

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness/oracle"
)

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
			dirs := slices.DeleteFunc(q.nodes(), func(path string) bool { return ticketName.MatchString(path) })
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
