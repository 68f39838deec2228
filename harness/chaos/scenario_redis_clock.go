package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

var redisClocks = []*Scenario{clockForward, clockBack}

var early = []Expectation{
	{"redis-redlock", nil, "the clocks of two of the three servers go on"},
	tokenOrder,
	published,
	{"redis-semaphore", []harness.Harm{harness.TwoHolders, harness.Overtaken}, "both leases end early, and waiters ask for the permits in either order; tokens rise"},
	{redisFenced, []harness.Harm{harness.TwoHolders}, "the lease ends early, and its holder hears of it by its next renewal; tokens rise"},
	{"rueidislock.*", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall, harness.Stuck}, "leases are until a time of the client's clock, which is over for the server: all that ask are granted the lock"},
	{redisPlain, []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "the lease ends early, and there is no token"},
}

var clockForward = &Scenario{
	Name:     "redis-clock-forward",
	Question: "Are there two holders after the server's clock was set forward?",
	Fault:    "the clock of the server is set forward by two leases while the lock is held; of three independent servers, one",
	Source:   "Kleppmann 2016, How to do distributed locking",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisAll,
	Expect:   early,
	Deadline: 20 * time.Second,
	Prompt:   3 * TTL,
	Tries:    100,
	Try: func(ctx context.Context, t *Try) {
		f, i := t.clocked(ctx)
		began := t.Now()
		t.Fault("the clock of server 0 is set forward")
		check(f[0].SetClock(0, 2*TTL))
		i.outcome(ctx, began)
	},
}

var clockBack = &Scenario{
	Name:     "redis-clock-back",
	Question: "How long is a lock taken if its holder dies after the server's clock was set back?",
	Fault:    "the clock of the server is set back by three leases while the lock is held, and then the process of the holder is killed; of three independent servers, one",
	Source:   "Kleppmann 2016, How to do distributed locking",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisAll,
	Expect: []Expectation{
		{"redis-redlock", nil, "the clocks of two of the three servers go on"},
		{"redis-token|redis-redisson12", []harness.Harm{harness.Overtaken, harness.Stall, harness.Stuck}, "nothing ends what its holder left: no lease"},
		published,
		{"redis-semaphore", []harness.Harm{harness.Stall, harness.Overtaken}, "the lease ends later by as much; both permits are free at once then, and waiters hear of them in either order"},
		{redisOne, []harness.Harm{harness.Stall}, "the lease ends later by as much"},
	},
	Deadline: 20 * time.Second,
	Prompt:   2 * TTL,
	Tries:    50,
	Try: func(ctx context.Context, t *Try) {
		f, i := t.clocked(ctx)
		t.Fault("the clock of server 0 is set back")
		check(f[0].SetClock(0, -3*TTL))
		i.hosts[0].Kill()
		began := t.Now()
		t.Each(func(s *Subject) {
			i.late[s].Loop(ctx, ordinary)
			s.await(ctx, 6*TTL, began)
			t.Sleep(ctx, 5*ordinary.Hold)
		})
	},
}

func (t *Try) clocked(ctx context.Context) (fleet, *incident) {
	f := t.fleet(ctx, backend.RedisOptions{Clock: true})
	t.Defer(func() {
		if f[0].SetClock(0, 0) != nil {
			t.Stage.drop("redis 0")
		}
	})
	return f, t.incident(ctx, f.at)
}
