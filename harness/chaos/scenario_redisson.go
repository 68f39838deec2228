package chaos

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

// redissonScenarios are the hazards of Redisson 1.2.0 and of its current fair lock.
// Scenario release-late covers the release of the next holder's lock (B19).
var redissonScenarios = table(Scenario{
	Family: "Redisson", Tests: []result.Guarantee{result.Recovery}, Locks: redissonLocks, Deadline: 20 * time.Second, Prompt: TTL / 2, Tries: 200,
}, []Scenario{
	{Name: "reentry-late", Takes: 4,
		Question: "May a holder that locks again take the lock from the next holder?",
		Fault:    "the requests of a holder to lock again, except the checks of the owner, are held back until its lease is over and the next client holds the lock",
		Source:   "Redisson 1.2.0, tryLockInner: GET, then MULTI, SET, EXEC, without WATCH (B17)",
		Tests:    []result.Guarantee{result.Fencing},
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "it overwrites the owner, and the key does not expire then"},
			{".*", []oracle.Anomaly{oracle.Stall}, stallsOnly},
		},
		Try: hazard(func(ctx context.Context, t *Try, s *Subject, first, next *Worker, wire wire) {
			check(first.Acquire(ctx, 0))
			remove, hit := wire.inject(faultproxy.Fault{Do: faultproxy.HoldBack, By: 3 * TTL / 2, Times: 1000, Match: changes(s)})
			defer remove()
			s.Fault("a second acquire of the holder held back")
			again := first.Begin(ctx, 3*TTL)
			hit()
			if next.Acquire(ctx, 3*TTL) == nil {
				t.Sleep(ctx, TTL)
				next.Write(ctx)
				next.Release(ctx)
			}
			remove()
			if <-again == nil {
				first.Write(ctx)
				first.Release(ctx)
			}
		}),
	},
	{Name: "reentry-crash", Takes: 5,
		Question: "Is a lock that was taken twice free again after its holder has crashed?",
		Fault:    "the process of a holder that has locked twice is killed (SIGKILL)",
		Source:   "Redisson 1.2.0: the SET of a re-entry drops the time to live (B18)",
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the second SET has dropped the time to live of the key"},
			{".*", []oracle.Anomaly{oracle.Stall}, stallsOnly},
		},
		Try: hazard(func(ctx context.Context, t *Try, s *Subject, first, next *Worker, wire wire) {
			check(errors.Join(first.Acquire(ctx, 0), first.Acquire(ctx, 0)))
			first.Host.Kill()
			next.visit(ctx, 4*TTL)
		}),
	},
	{Name: "acquire-crash", Takes: 5,
		Question: "Is a lock free again when a client has died in the middle of taking it?",
		Fault:    "the second request of an acquire is lost and the process of the client is killed (SIGKILL) when the server has executed the first",
		Source:   "Redisson 1.2.0: SETNX, then PEXPIRE (B20)",
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the key has no time to live before the second request"},
			{".*", []oracle.Anomaly{oracle.Stall}, stallsOnly},
		},
		Try: hazard(func(ctx context.Context, t *Try, s *Subject, first, next *Worker, wire wire) {
			wire.inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Skip: 1, Times: 1 << 20, Match: about(s)})
			s.Fault("all requests but the first lost")
			first.Acquire(ctx, TTL/2)
			first.Host.Kill()
			next.visit(ctx, 4*TTL)
		}),
	},
	{Name: "answer-late", Takes: 5,
		Question: "Does a waiter take a lock that is freed while the waiter queries the time left?",
		Fault:    "the last query of a waiter is held back until the holder has crashed and its lease is over",
		Source:   "Redisson 1.2.0: PTTL returns -2 for a missing key, which is taken for a key without expiry (B21)",
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it sleeps while the lock is free until a message comes"},
			{".*", []oracle.Anomaly{oracle.Stall}, "one answer has the state of the lock and the time left"},
		},
		Try: hazard(func(ctx context.Context, t *Try, s *Subject, first, next *Worker, wire wire) {
			check(next.Acquire(ctx, 0))
			// The first request precedes the waiter's subscription; the second follows it.
			_, hit := wire.inject(faultproxy.Fault{Do: faultproxy.HoldBack, By: 3 * TTL / 2, Skip: 1, Match: func(m faultproxy.Message) bool {
				return (m.Op == "pttl" || m.Op == "evalsha") && about(s)(m)
			}})
			s.Fault("the question of a waiter held back")
			waits := first.Begin(ctx, 0)
			hit()
			next.Host.Kill()
			if err, came := ends(ctx, waits, 4*TTL); came && err == nil {
				first.Release(ctx)
			}
		}),
	},
	{Name: "dead-head", Takes: 2, Alone: true, Tries: 60, Prompt: TTL, // the server counts the requests of all
		Question: "How often do the others ask when the first waiter is dead and the lock is free?",
		Fault:    "the process of the first of two waiters is killed (SIGKILL), and the holder releases",
		Source:   "Redisson 4.7.0, RedissonFairLock: a waiter behind a dead head must ask again in 0 ms; issues 1104, 2278",
		Locks:    "redis-(fair-redisson|queue|reentrant|rw|semaphore|multi|cohort)",
		Expect: []Expectation{
			{"redis-fair-redisson", []oracle.Anomaly{oracle.Storm, oracle.Stall, oracle.Stuck}, "the dead waiter keeps its place for five minutes, and the other asks as fast as the server answers"},
			{".*", []oracle.Anomaly{oracle.Stall}, "the grant to the dead waiter has to run out"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "requests", Quantile: 1, Limit: stormRate / 2, Text: "50 in a second"}}},
		Try: perLock(3, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			served := t.line(ctx, hosts, s)
			addr := t.At(ctx, s).Addrs[0][0]
			hosts[1].Kill()
			before := t.requests(ctx, addr)
			releaseAll(ctx, s.holders)
			t.Sleep(ctx, time.Second)
			after := t.requests(ctx, addr)
			s.Figure("requests", "1/s", float64(after-before))
			if after-before > stormRate {
				s.Show(oracle.Storm, "the server answered %d requests in a second", after-before)
			}
			served(2 * TTL)
		}),
	},
})

const (
	redissonLocks = "redis-(redisson12|reentrant)"

	stallsOnly = "one script changes the lock and sets the lease; the others wait until the lease is over"
)

func hazard(do func(ctx context.Context, t *Try, s *Subject, first, next *Worker, wire wire)) func(ctx context.Context, t *Try) {
	return perLock(0, func(ctx context.Context, t *Try, s *Subject, _ []*Host) {
		first, wire := t.wired(ctx, t.Host(), s)
		next := t.plain(ctx, t.Host(), s)
		warm(ctx, first, next)
		do(ctx, t, s, first, next, wire)
	})
}

func (w *Worker) visit(ctx context.Context, most time.Duration) {
	if w.Acquire(ctx, most) == nil {
		w.Release(ctx)
	}
}

// changes matches the requests of a client that change the lock, except SET NX, which has
// no effect on a held lock.
func changes(s *Subject) func(faultproxy.Message) bool {
	named := about(s, "get", "pttl")
	return func(m faultproxy.Message) bool {
		words, _ := m.Body.([]string)
		return named(m) && !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "nx") })
	}
}

// stormRate, the aim of deadHead, is far above the rate of waiters that are notified, and
// far below a server's capacity.
const stormRate = 100

// requests returns the client commands executed by the server at addr, without scripts' calls.
func (t *Try) requests(ctx context.Context, addr string) (n int) {
	for line := range strings.Lines(must(t.Redis(addr).Info(ctx, "commandstats").Result())) {
		name, rest, _ := strings.Cut(line, ":calls=")
		calls, _, _ := strings.Cut(rest, ",")
		switch name {
		case "cmdstat_evalsha", "cmdstat_eval", "cmdstat_blpop", "cmdstat_subscribe", "cmdstat_unsubscribe":
			n += must(strconv.Atoi(calls))
		}
	}
	return n
}
