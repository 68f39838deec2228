package redislock_test

import (
	"context"
	"errors"
	"testing"

	"locklab/redislock"
)

func TestServer(t *testing.T) {
	runOnServer(t, []serverTest{
		{"lost replies", lostReplies},
		{"silent server", silentServer},
		{"key of another program", foreignKey},
		{"server gone", serverGone},
		{"holders that were deleted", holdersDeleted},
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
