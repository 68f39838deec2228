package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

var readerScenarios = table(Scenario{
	Family: "readers",
}, []Scenario{
	{Name: "readers-together", Takes: 8, Tries: 200, Deadline: 20 * time.Second, Prompt: 2 * TTL,
		Question: "Do the readers of a client that wait behind a writer enter together when it leaves?",
		Fault:    "none: three readers of one client wait for a lock that another holds for writing, which releases it; each reader stays until the others are in, but for a second at most",
		Source:   "Redisson issues 1542 and 1458: readers that waited behind a writer took turns; release notes of Redisson 3.8.2",
		Locks:    "redis-(rw|rw-redisson)|zk-(rw|rw-curator)|curator-rw",
		Expect: []Expectation{
			{"redis-rw-redisson", []oracle.Anomaly{oracle.Stall}, "a message wakes one of the waiters of a client, and the next one is woken when that reader leaves"},
			{"redis-rw", nil, "a release admits all readers that are next to each other in the queue"},
			{".*", nil, "readers wait for the ticket of the writer, and not for each other"},
		},
		Aims: []Aim{{"redis-rw|zk-rw", result.FaultAim{Figure: "readers inside together", Quantile: 0, Least: true, Limit: readers, Text: "all"}}},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			at := must(t.At(ctx, s.Variant))
			if at.Kind == harness.KindRedis {
				at.Lease = 4 * TTL // after that a waiter asks again on its own
			}
			writer := hosts[0].Open(ctx, s, at)
			rs := hosts[1].Open(ctx, s, at).group(ctx, readers)
			check(writer.Acquire(ctx, 0))
			t.readTogether(ctx, s, writer, rs)
		}),
	},
})

const readers = 3

// readTogether makes readers wait for a writer, which then releases, and shows how many
// of them were in at the same time. The others enter behind them.
func (t *Try) readTogether(ctx context.Context, s *Subject, writer *Worker, rs []*Worker) {
	in, left, leave := make(chan bool, len(rs)), make(chan bool, len(rs)), make(chan struct{})
	for _, r := range rs {
		t.work.Go(func() {
			defer func() { left <- true }()
			if r.AcquireShared(ctx, 0) == nil {
				in <- true
				select {
				case <-leave:
				case <-ctx.Done():
				}
				r.Release(ctx)
			}
		})
	}
	t.Sleep(ctx, 400*time.Millisecond) // so that they surely wait
	began := now()
	check(writer.Release(ctx))
	n := count(ctx, TTL, in, len(rs))
	s.Figure("readers inside together", "", float64(n))
	if n < len(rs) {
		s.ShowTimed(oracle.Stall, began, now(), TTL/2, "%d of %d readers were in %v after the writer had left", n, len(rs), TTL)
	}
	close(leave)
	count(ctx, 5*TTL, left, len(rs))
}
