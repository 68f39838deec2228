package redislock_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestFailover: Sentinel promotes a replica that lacks the latest write.
func TestFailover(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*testing.T, running, *redis.Client){"acquisition lost": acquisitionLost, "release lost": releaseLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startSentinel(t)
			leaktest.Own(t)
			primary := redis.NewClient(&redis.Options{Addr: r.Endpoint().Addrs[0][0]})
			defer primary.Close()
			run(t, r, primary)
		})
	}
}

// acquisitionLost: the next holder's token is greater, and the old holder notices before its
// deadline.
func acquisitionLost(t *testing.T, r running, primary *redis.Client) {
	name, o := newName(), redislock.Options{TTL: 12 * time.Second} // longer than a failover
	m, next := r.client(t).Mutex(name, o), r.client(t).Mutex(name, o)
	cutReplicaOff(t, r, primary)
	old := lock(t, m)
	promoteReplica(t, r)
	l := take(t, begun(t, next))
	if l.Token() <= old.Token() {
		t.Errorf("token %d after %d", l.Token(), old.Token())
	}
	select {
	case <-old.Done():
	case <-time.After(time.Until(deadline(old)) + slack):
		t.Error("the old holder does not notice")
	}
	lost(t, old)
	unlock(t, l)
}

// releaseLost: the lock stays taken until its lease is over.
func releaseLost(t *testing.T, r running, primary *redis.Client) {
	const lease = 5 * time.Second
	name, o := newName(), redislock.Options{TTL: lease, DisableRenewal: true}
	began := time.Now()
	old := lock(t, r.client(t).Mutex(name, o))
	if primary.Wait(t.Context(), 1, patience).Val() != 1 {
		t.Error("the lock is not replicated")
	}
	cutReplicaOff(t, r, primary)
	unlock(t, old)
	promoteReplica(t, r)
	l := take(t, begun(t, r.client(t).Mutex(name, o)))
	if took := time.Since(began); took < lease-slack || took > 2*lease || l.Token() <= old.Token() {
		t.Errorf("the next holder began %v after the last, whose lease was %v; token %d after %d", took, lease, l.Token(), old.Token())
	}
	l.Unlock(t.Context())
}

// cutReplicaOff cuts the replica off: it gets no later write of the primary.
func cutReplicaOff(t *testing.T, r running, primary *redis.Client) {
	t.Helper()
	requireNoError(t, r.Signal(1, syscall.SIGSTOP)) // else it would connect again at once
	requireNoError(t, primary.ClientKillByFilter(t.Context(), "TYPE", "replica").Err())
	eventually(t, "the replica is gone", func() bool {
		return strings.Contains(primary.Info(t.Context(), "replication").Val(), "connected_slaves:0")
	})
}

func promoteReplica(t *testing.T, r running) {
	t.Helper()
	requireNoError(t, r.Signal(0, syscall.SIGKILL))
	requireNoError(t, r.Signal(1, syscall.SIGCONT))
	requireNoError(t, r.awaitPromotion(t.Context()))
}
