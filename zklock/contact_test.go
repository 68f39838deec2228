package zklock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/zklock"
)

func TestContact(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"cost", contactCost},
		{"busy", contactBusy},
		{"root not to be read", contactBelowRoot},
	})
}

// contactCost: a client that holds or waits sends at most four contacts in a session timeout,
// others none. In a second a busy machine would leave little after each answer.
func contactCost(t *testing.T, at harness.Endpoint) {
	var wg sync.WaitGroup
	for _, timeout := range []time.Duration{2 * time.Second, 4 * time.Second} {
		wg.Go(func() {
			see, path := raw(t, at), newPath()
			client := func() *zklock.Client {
				return zklock.Relax(dial(t, at, zklock.ClientOptions{SessionTimeout: timeout}))
			}
			holder, waiter, idle := client(), client(), client()
			held := lock(t, holder.Mutex(path, zklock.Options{}))
			next := waiting(t, t.Context(), waiter.Mutex(path, zklock.Options{}), see, 2)
			unlock(t, lock(t, idle.Mutex(newPath(), zklock.Options{})))
			const timeouts = 4
			var sent [3]uint64
			began := time.Now()
			var measured sync.WaitGroup
			for i, c := range []*zklock.Client{holder, waiter, idle} {
				measured.Go(func() { sent[i] = cost(func() { time.Sleep(timeouts * timeout) }, c).Requests })
			}
			measured.Wait()
			took := time.Since(began)
			// Each also watches its ticket, once.
			for i, what := range []string{"holds", "waits"} {
				n := sent[i]
				if most := 4*float64(took)/float64(timeout) + 2; n < timeouts || float64(n) > most {
					t.Errorf("a client with a session of %v that %s sends %d requests in %v, want %d to %.0f", timeout, what, n, took, timeouts, most)
				}
				t.Logf("a client with a session of %v that %s sends %.2f requests a second", timeout, what, float64(n)/took.Seconds())
			}
			expectEqual(t, "a client that neither holds nor waits sends", sent[2], 0)
			if err := held.Err(); err != nil {
				t.Errorf("the lease has ended: %v", err)
				return
			}
			held.Unlock(t.Context())
			unlock(t, awaitLease(t, next))
		})
	}
	wg.Wait()
}

func contactBusy(t *testing.T, at harness.Endpoint) {
	c := dial(t, at, zklock.ClientOptions{SessionTimeout: 4 * time.Second})
	m := c.Mutex(newPath(), zklock.Options{})
	unlock(t, lock(t, m))
	acquisitions := 0
	have := cost(func() {
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); acquisitions++ {
			unlock(t, lock(t, m))
		}
	}, c)
	if want := (harness.Counts{Requests: uint64(2*acquisitions + 1)}); have != want { // the first watches the node of the lock
		t.Errorf("%d acquisitions cost %+v, want %+v", acquisitions, have, want)
	}
}

func contactBelowRoot(t *testing.T, _ harness.Endpoint) {
	at := startServer(t, backend.EnsembleOptions{})
	see := raw(t, at)
	createNode(t, see, "/open", nil, 0)
	setACL(t, see, "/", zk.WorldACL(zk.PermCreate|zk.PermAdmin))
	c := dial(t, at, zklock.ClientOptions{SessionTimeout: 2 * time.Second})
	l := lock(t, c.Mutex("/open/lock", zklock.Options{}))
	time.Sleep(2 * c.SessionTimeout())
	if err := l.Err(); err != nil {
		t.Error(fmt.Errorf("where the root may not be read: %w", err))
	}
	l.Unlock(t.Context())
}
