package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock"
)

func TestShared(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for _, test := range []struct {
		name string
		run  func(*testing.T, harness.Endpoint)
	}{
		{"requests and keys", sharedRequests},
		{"readers are admitted together", readersTogether},
		{"holders that were deleted", holdersDeleted},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaktest.All(t)
			test.run(t, at)
		})
	}
}

func held(t *testing.T, l *link, key string) int64 {
	t.Helper()
	n, err := l.ZCard(context.WithoutCancel(t.Context()), key).Result()
	requireNoError(t, err)
	return n
}

func keptOut(t *testing.T, what string, got <-chan *redislock.Lease) {
	t.Helper()
	select {
	case <-got:
		t.Errorf("%s got the lock", what)
	case <-time.After(200 * time.Millisecond):
	}
}

func sharedRequests(t *testing.T, at harness.Endpoint) {
	c, other, key := dial(t, at), newPeer(t, at), newKey()
	writer := lock(t, newClient(t, c).RWMutex(key, redislock.Options{}))
	before := c.Counts()
	got := begun(t, other.Client.RWMutex(key, redislock.Options{}).RLocker())
	eventually(t, "the reader waits", func() bool { return c.ZCard(t.Context(), key+":~queue").Val() == 1 })
	unlock(t, writer)
	unlock(t, take(t, got))
	if n := c.Counts().Sub(before).Requests; n < 2 || other.link.Counts().Requests != 1+1+1 { // ping, acquire, release
		t.Errorf("a contended acquisition cost %d requests of the waiter, want 2 and its blocking pop", other.link.Counts().Requests-1)
	}
	for _, name := range []string{key, key + ":~queue", key + ":~tokens"} {
		if n := c.Exists(t.Context(), name).Val(); n != 0 {
			t.Errorf("%s is left", name)
		}
	}
}

func readersTogether(t *testing.T, at harness.Endpoint) {
	const n = 5
	c, key := dial(t, at), newKey()
	m := newClient(t, c).RWMutex(key, redislock.Options{})
	writer := lock(t, m)
	var got []<-chan *redislock.Lease
	for i := range n {
		got = append(got, begun(t, newClient(t, dial(t, at)).RWMutex(key, redislock.Options{}).RLocker()))
		eventually(t, "the reader waits", func() bool { return c.ZCard(t.Context(), key+":~queue").Val() == int64(i+1) })
	}
	last := begun(t, m)
	eventually(t, "the writer waits", func() bool { return c.ZCard(t.Context(), key+":~queue").Val() == n+1 })
	if l, err := m.TryRLock(t.Context()); !errors.Is(err, redislock.ErrNotAcquired) {
		t.Errorf("TryRLock of a writer's lock = %v, %v", l, err)
	}
	unlock(t, writer)
	var leases []*redislock.Lease
	for _, ch := range got {
		leases = append(leases, take(t, ch)) // all inside together
	}
	if l, err := m.TryRLock(t.Context()); !errors.Is(err, redislock.ErrNotAcquired) {
		t.Errorf("TryRLock before a writer that waits = %v, %v", l, err)
	}
	greatest := writer.Token()
	for _, l := range leases {
		if l.Token() <= writer.Token() {
			t.Errorf("a reader's token is %d after a writer's %d", l.Token(), writer.Token())
		}
		greatest = max(greatest, l.Token())
		keptOutNow(t, last)
		unlock(t, l)
	}
	l := take(t, last)
	if l.Token() <= greatest {
		t.Errorf("a writer's token is %d after a reader's %d", l.Token(), greatest)
	}
	unlock(t, l)
}

func keptOutNow(t *testing.T, got <-chan *redislock.Lease) {
	t.Helper()
	select {
	case <-got:
		t.Error("a writer is inside with readers")
	default:
	}
}

// holdersDeleted: the key of the lock is deleted or evicted, and its companion is not. The next
// writer has the lock, and a repetition of an earlier writer's request is not admitted as well.
func holdersDeleted(t *testing.T, at harness.Endpoint) {
	c, key := dial(t, at), newKey()
	m := newClient(t, c).RWMutex(key, redislock.Options{})
	first := lock(t, m)
	c.Del(t.Context(), key)
	second := lock(t, m)
	if token, err := redislock.Repeat(t.Context(), first); token != 0 || err != nil {
		t.Errorf("the request again: token %d, %v", token, err)
	}
	if n := held(t, c, key); n != 1 {
		t.Errorf("%d writers hold the lock", n)
	}
	unlock(t, second)
	lost(t, first)
	if keys, err := c.Exists(t.Context(), key, redislock.Companion(key, "tokens")).Result(); keys != 0 || err != nil {
		t.Errorf("%d keys are left, %v", keys, err)
	}
}
