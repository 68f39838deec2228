package zklock_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
)

func write(see *wirezk.Conn, path string, ops []any) error {
	_, err := see.Multi(append(ops, &zk.SetDataRequest{Path: path, Version: -1})...)
	return err
}

func requireStale(t *testing.T, see *wirezk.Conn, path string, ops []any) {
	t.Helper()
	if err := write(see, path, ops); !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
		t.Errorf("a write by a lease that is over = %v", err)
	}
}

// checkedByUser: another connection's transaction succeeds only while the lock is held.
func checkedByUser(t *testing.T, at harness.Endpoint) {
	see, state := raw(t, at), newPath()
	unlock(t, lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(state, zklock.Options{}))) // makes the node
	c, path, o := dial(t, at, zklock.ClientOptions{}), newPath(), zklock.Options{Checkable: true}
	for i, k := range []struct {
		lock   zklock.Lockable
		checks int // 0: no checks
	}{
		{c.Mutex(path, o), 1},
		{c.Mutex(path, zklock.Options{}), 0},
		{c.RWMutex(path, o), 1},
		{c.RWMutex(path, o).RLocker(), 1},
		{c.RWMutex(path, zklock.Options{}), 0},
		{c.RWMutex(path, zklock.Options{}).Owner(), 1},
		{c.Reentrant(path, zklock.Options{}).Owner(), 1},
		{c.Semaphore(path, 1, zklock.Options{}), 1},
		{c.SemaphoreV2(path, 1, zklock.Options{}), 1},
		{c.Multi([]string{path, path + "-2"}, zklock.MultiOptions{Options: o}), 2},
		{c.Multi([]string{path, path + "-2"}, zklock.MultiOptions{}), 0},
		{c.Cohort(path, zklock.CohortOptions{}), 0},
		{c.Cohort(path, zklock.CohortOptions{Handovers: -1}), 1},
	} {
		name := fmt.Sprintf("%d, %T", i, k.lock)
		l := acquire(t, k.lock.Lock)
		ops, err := l.IsOwner()
		if len(ops) != k.checks || errors.Is(err, zklock.ErrNoCheck) != (k.checks == 0) {
			t.Errorf("%s: IsOwner = %d operations, %v, want %d", name, len(ops), err, k.checks)
		}
		for _, op := range ops { // by Revoke, or by the holder of a permit
			if check := op.(*zk.CheckVersionRequest); check.Version < 0 {
				if _, err := see.Set(check.Path, []byte("__REVOKE__"), -1); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if err := write(see, state, ops); err != nil {
			t.Errorf("%s: a write while it is held = %v", name, err)
		}
		unlock(t, l)
		if k.checks > 0 {
			requireStale(t, see, state, ops)
		}
	}
}

// checkedAfterRemake: a lost lease does not pass by another ticket with its number.
func checkedAfterRemake(t *testing.T, at harness.Endpoint) {
	see, path, o := raw(t, at), newPath(), zklock.Options{Checkable: true}
	l := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, o))
	ops, err := l.IsOwner()
	requireNoError(t, err)
	recreateNode(t, see, path, 0)
	other := lock(t, dial(t, at, zklock.ClientOptions{}).Mutex(path, o))
	if numberOf(t, other) != numberOf(t, l) {
		t.Fatalf("the test shows nothing: tickets %s and %s", name(l), name(other))
	}
	requireStale(t, see, path, ops)
	unlock(t, other)
}
