package zklock_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/zklock"
)

// TestCurator shares the permit of a semaphore with Curator's InterProcessSemaphoreMutex, which
// is an InterProcessSemaphoreV2 of one permit.
func TestCurator(t *testing.T) {
	t.Parallel()
	at, key, v := endpoint(t), newKey(), variant(t, "curator-semaphore-mutex")
	if v.Unavailable != "" && !backend.Required("java") {
		t.Skip(v.Unavailable)
	}
	ours := dialServer(t, at, zklock.ClientOptions{}).SemaphoreV2("/locklab/"+key, 1, zklock.Options{})
	lock := func(ctx context.Context) (harness.Lease, error) { return ours.Lock(ctx) }
	var r rush
	var wg sync.WaitGroup
	for _, f := range []take{lock, lock, session(t, connectVariant(t, v, at, key)).Lock, session(t, connectVariant(t, v, at, key)).Lock} {
		wg.Go(func() {
			for range 20 {
				l := acquireLock(t, f)
				r.stay(t, 0, func() bool { return true })
				unlockLease(t, l)
			}
		})
	}
	wg.Wait()
}

// TestMixedVersions: a write to the ticket ahead is the lock only if that has this version.
// Behind others a waiter lists the queue, and waits until the ticket is gone.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	var tests []serverTest
	for name, data := range map[string]string{
		"this version":        "zklock-sealed 1 another and its name",
		"before versions":     "zklock: sealed until it is released",
		"a version to come":   "zklock-sealed 2 another name and more",
		"a marker alone":      "zklock-sealed",
		"Curator, an address": "127.0.0.1",
		"zk.Lock":             "",
	} {
		tests = append(tests, serverTest{name, func(t *testing.T, at harness.Endpoint) { behindTicketWith(t, at, data) }})
	}
	runTogether(t, endpoint(t), tests)
}

func behindTicketWith(t *testing.T, at harness.Endpoint, data string) {
	see, c := dialRaw(t, at), dialServer(t, at, zklock.ClientOptions{Name: "the one behind"})
	m := c.Mutex(newPath(), zklock.Options{})
	unlockLease(t, lockNow(t, m)) // makes the parents
	head := createNode(t, see, m.Path()+"/_c_another-lock-", []byte(data), zk.FlagEphemeralSequential)
	next := startWaiting(t, t.Context(), m, see, 2)
	setData(t, see, head, []byte(data))
	if !strings.HasPrefix(data, "zklock-sealed 1 ") {
		expectWaiting(t, next)
		deleteNode(t, see, head)
	}
	l := awaitLease(t, next)
	if data, _, err := see.Get(zklock.Node(l)); err != nil || !strings.HasSuffix(string(data), " the one behind") {
		t.Errorf("the ticket has %q, %v, want the name of its client", data, err)
	}
	unlockLease(t, l)
}
