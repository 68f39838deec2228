package chaos

import (
	"context"
	"errors"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var releaseScenarios = table(Scenario{
	Family: "release", Tests: []result.Guarantee{result.Fencing},
}, []Scenario{
	{Name: "release-late", Takes: 3, Tries: 200, Deadline: 20 * time.Second, Prompt: TTL / 2,
		Question: "May a release that arrives after the lease free the lock of the next holder?",
		Fault:    "what a holder sends to release the lock, but for the question whether it has it, is held back until its lease is over and the next client holds the lock; a third one waits",
		Source:   "Redisson 1.2.0, unlock: GET, then MULTI, DEL (B19); Redis documentation, Distributed Locks, on why one script must compare and delete",
		Locks:    redisLocks,
		Expect: []Expectation{
			{"redis-(unsafe|redisson12)", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "it has asked before whose the lock is, and DEL frees it whose ever it is"},
			{"redis-token", []oracle.Anomaly{oracle.Stall}, "it has no lease: the others wait until the release arrives"},
			{".*", []oracle.Anomaly{oracle.Stall}, "the server compares and frees in one step, late; until then the lease has to run out"},
		},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			w, wire := t.wired(ctx, hosts[0], s)
			holders := t.holders(ctx, hosts[1], s)
			third := t.plain(ctx, hosts[1], s)
			check(errors.Join(warm(ctx, w), w.Acquire(ctx, 0)))
			remove, _ := wire.inject(faultproxy.Fault{Do: faultproxy.HoldBack, By: 3 * TTL / 2, Times: 1000, Match: about(s, "get")})
			s.Fault("release held back")
			released := make(chan error, 1)
			t.work.Go(func() { released <- w.Release(ctx) })
			for _, h := range holders {
				if err := h.Acquire(ctx, 3*TTL); err != nil {
					break // the history has the reason
				}
			}
			waits := third.Begin(ctx, 2*TTL)
			t.Sleep(ctx, TTL)
			remove()
			for _, h := range holders {
				h.Write(ctx)
				h.Release(ctx)
			}
			if <-waits == nil {
				third.Release(ctx)
			}
			<-released
		}),
	},
	{Name: "release-stale", Takes: 8, Tries: 30, Deadline: 40 * time.Second, Prompt: 2 * SessionTimeout, // without Curator: Java takes longer to start than all the rest
		Question: "Does a release of what was released or lost before leave the next holder alone, and say so?",
		Fault:    "a client releases the lock twice, the second time when others hold it; then its process is stopped (SIGSTOP) until it has lost the lock to them, and it releases again",
		Source:   "Redis documentation, Distributed Locks; the DEL of most first versions",
		Locks:    strings.ReplaceAll(remoteLocks, "|curator-.*", ""),
		Expect: []Expectation{
			{"redis-token|zk-persistent", []oracle.Anomaly{oracle.Stall}, "nothing ends what a stopped holder has: the others wait until it goes on"},
			{"zk-.*-historical", []oracle.Anomaly{oracle.TwoHolders, oracle.Misled}, "a stopped holder cannot be told; its release finds its node gone and is content"},
			{".*", []oracle.Anomaly{oracle.TwoHolders}, "a stopped holder cannot be told; its release frees nothing and is refused"},
		},
		Try: func(ctx context.Context, t *Try) {
			hosts := t.Hosts(2)
			firsts := gather(t, func(s *Subject) *stale {
				x := &stale{first: t.plain(ctx, hosts[0], s), others: t.holders(ctx, hosts[1], s), extra: t.plain(ctx, hosts[1], s)}
				x.twice(ctx, s)
				return x
			})
			hosts[0].Pause()
			t.Each(func(s *Subject) { firsts[s].lose(ctx, s) })
			hosts[0].Resume()
			t.Each(func(s *Subject) { firsts[s].late(ctx, s) })
		},
	},
})

// A stale is a client that releases a lock it does not hold, the current holders, and an
// extra client that must not get the lock.
type stale struct {
	first  *Worker
	others []*Worker
	extra  *Worker
	lost   bool
}

func (x *stale) twice(ctx context.Context, s *Subject) {
	check(warm(ctx, x.first))
	acquireAll(ctx, x.others)
	s.Fault("released again")
	x.said(s, "a second release", x.first.ReleaseAgain(ctx))
	x.intrude(ctx)
	for _, w := range x.others {
		check(w.Release(ctx))
	}
	check(x.first.Acquire(ctx, 0))
}

func (x *stale) intrude(ctx context.Context) {
	if x.extra.Acquire(ctx, 200*time.Millisecond) == nil {
		x.extra.Release(ctx)
	}
}

func (x *stale) lose(ctx context.Context, s *Subject) {
	for _, w := range x.others {
		x.lost = w.Acquire(ctx, outlived(s.Variant)) == nil
	}
}

func (x *stale) late(ctx context.Context, s *Subject) {
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.Fault("released late")
	if err := x.first.Release(wait); x.lost && wait.Err() == nil {
		x.said(s, "the release of a lost lock", err)
	}
	if x.lost {
		x.intrude(ctx)
	}
}

// said reports a wrong result of a release of a lock that was not held.
func (x *stale) said(s *Subject, what string, err error) {
	if !errors.Is(err, harness.ErrNotHeld) {
		s.Show(oracle.Misled, "%s said %v", what, err)
	}
}
