package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
)

func TestServer(t *testing.T) {
	runOnServer(t, []serverTest{
		{"requests", requests},
		{"no script", noScript},
		{"foreign delete", foreignDelete},
		{"expiry", expiry},
		{"expiry and successor", expiryAndSuccessor},
		{"lost reply to Lock of a retrying client", lostReplyRetried},
		{"lost replies until Lock gives up", lostRepliesGiveUp},
		{"silent server", silentServer},
		{"late reply", lateReply},
		{"slow server", slowServer},
		{"slower than the lease", slowerThanLease},
		{"wrong type", wrongType},
		{"server gone", serverGone},
		{"Do", doEndsWithLease},
		{"Locker", locker},
		{"Locker past its lease", lockerPastLease},
	})
}

func lock(t *testing.T, m redislock.Lockable) *redislock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := m.Lock(ctx)
	requireNoError(t, err)
	return l
}

func unlock(t *testing.T, l *redislock.Lease) {
	t.Helper()
	requireNoError(t, l.Unlock(t.Context()))
}

func lost(t *testing.T, l *redislock.Lease) {
	t.Helper()
	err := l.Unlock(t.Context())
	if !errors.Is(err, redislock.ErrNotHeld) {
		t.Errorf("Unlock = %v, want ErrNotHeld", err)
	}
	select {
	case <-l.Done():
	default:
		t.Error("Done is open")
	}
	if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
		t.Errorf("Err = %v, want ErrLost", err)
	}
}

func requests(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	m := pollMutex(t, c, newKey(), redislock.Options{})
	requireRequests(t, c, m, 2)
}

func noScript(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	c.Client.AddHook(forgetful{})
	m := newClient(t, c).PubSubMutex(newKey(), redislock.Options{})
	before := c.Counts()
	unlock(t, lock(t, m))
	if got := c.Counts().Sub(before).Requests; got != 4 {
		t.Errorf("an acquisition whose scripts are unknown cost %d requests, want 4", got)
	}
}

type forgetful struct{ passThrough }

func (forgetful) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			cmd.Args()[1] = noScriptHash
		}
		return next(ctx, cmd)
	}
}

const noScriptHash = "0000000000000000000000000000000000000000"

func foreignDelete(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	key := newKey()
	m := pollMutex(t, c, key, redislock.Options{})
	l := lock(t, m)
	requireNoError(t, c.Del(t.Context(), key).Err())
	lost(t, l)
	unlock(t, lock(t, m))
}

func expiry(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	key := newKey()
	const lease = 300 * time.Millisecond
	m := pollMutex(t, c, key, redislock.Options{TTL: lease})
	asked := time.Now()
	l := lock(t, m)
	if until, ok := l.Deadline(); !ok || until.After(time.Now().Add(lease-5*time.Millisecond)) || until.Before(asked.Add(lease/2)) {
		t.Errorf("deadline %v after asking, %t; want less than the lease of %v by 1 %% and 2 ms", until.Sub(asked), ok, lease)
	}
	select {
	case <-l.Done():
	case <-time.After(patience):
		t.Fatal("Done stays open")
	}
	if until, _ := l.Deadline(); time.Now().Before(until) {
		t.Error("Done is closed before the deadline")
	}
	if owner(t, c, key) == "" && time.Since(asked) < lease {
		t.Error("the server gave the lock away before the deadline")
	}
	lost(t, l)
	eventually(t, "the key is gone", func() bool { return owner(t, c, key) == "" })
}

func expiryAndSuccessor(t *testing.T, at harness.Endpoint) {
	a, b := dial(t, at), dial(t, at)
	key := newKey()
	late := lock(t, pollMutex(t, a, key, redislock.Options{TTL: 50 * time.Millisecond}))
	next := lock(t, pollMutex(t, b, key, redislock.Options{}))
	mine := owner(t, b, key)
	lost(t, late)
	if got := owner(t, b, key); got != mine || got == "" {
		t.Errorf("a late Unlock changed the owner from %q to %q", mine, got)
	}
	if err := next.Err(); err != nil {
		t.Errorf("the next holder's Err = %v", err)
	}
	unlock(t, next)
}

func doEndsWithLease(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	m := pollMutex(t, c, newKey(), redislock.Options{TTL: 100 * time.Millisecond})
	boom := errors.New("boom")
	err := redislock.Do(t.Context(), m, func(ctx context.Context, l *redislock.Lease) error {
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			t.Error("the context outlives the lease")
		}
		if cause := context.Cause(ctx); !errors.Is(cause, redislock.ErrLost) {
			t.Errorf("cause %v, want ErrLost", cause)
		}
		return boom
	})
	if !errors.Is(err, boom) || !errors.Is(err, redislock.ErrNotHeld) {
		t.Errorf("Do = %v, want both boom and ErrNotHeld", err)
	}
	err = redislock.Do(t.Context(), m, func(ctx context.Context, l *redislock.Lease) error {
		if _, err := m.TryLock(ctx); !errors.Is(err, redislock.ErrNotAcquired) {
			t.Errorf("TryLock inside Do = %v, want ErrNotAcquired", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("Do = %v", err)
	}
}

func locker(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	key := newKey()
	k := redislock.Locker(pollMutex(t, c, key, redislock.Options{}))
	for range 2 {
		k.Lock()
		if owner(t, c, key) == "" {
			t.Error("Lock does not lock")
		}
		k.Unlock()
	}
	defer func() {
		if recover() == nil {
			t.Error("Unlock of a lock that is not held does not panic")
		}
	}()
	k.Unlock()
}

// lockerPastLease: a holder past its lease panics in Unlock, and does not release the next.
func lockerPastLease(t *testing.T, at harness.Endpoint) {
	c := dial(t, at)
	key := newKey()
	k := redislock.Locker(pollMutex(t, c, key, redislock.Options{TTL: 100 * time.Millisecond}))
	k.Lock()
	next := make(chan struct{})
	go func() {
		k.Lock()
		close(next)
	}()
	eventually(t, "the lease is over", func() bool { return owner(t, c, key) == "" })
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, redislock.ErrNotHeld) {
				t.Errorf("Unlock past the lease panics with %v, want ErrNotHeld", err)
			}
		}()
		select {
		case <-next:
			t.Error("the next user is inside before the holder has come to Unlock")
		case <-time.After(100 * time.Millisecond):
		}
		k.Unlock()
	}()
	select {
	case <-next:
		k.Unlock()
	case <-time.After(patience):
		t.Error("the next user does not get the lock")
	}
}
