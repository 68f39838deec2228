package redislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

func TestServer(t *testing.T) {
	runOnServer(t, []serverTest{
		{"lost reply to Lock of a retrying client", lostReplyRetried},
		{"lost replies until Lock gives up", lostRepliesGiveUp},
		{"silent server", silentServer},
		{"late reply", lateReply},
		{"wrong type", wrongType},
		{"server gone", serverGone},
		{"Do", doEndsWithLease},
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

const noScriptHash = "0000000000000000000000000000000000000000"

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
