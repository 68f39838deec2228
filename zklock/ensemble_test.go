package zklock_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/zklock"
)

// ensemble starts three servers for the duration of t.
func ensemble(t *testing.T) *backend.Server {
	t.Helper()
	server, err := backend.StartEnsemble(t.Context(), 3)
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	if !server.Owned() {
		t.Skip("the servers at hand were not started here, and so are not to be killed")
	}
	return server
}

// leader returns which of these servers leads the others, and waits for one to do so.
func leader(t *testing.T, server *backend.Server) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	i, err := server.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestLeaderDies kills the leader of an ensemble, and stops another's, while clients
// contend for a zk-handoff: none gets in beside a holder, tokens rise, every client gets
// on soon after the servers have another leader, which takes them ten seconds more
// if an election fails on a busy machine, and no ticket is left.
func TestLeaderDies(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct {
		name string
		how  os.Signal
	}{{"killed", os.Kill}, {"stopped", syscall.SIGSTOP}} {
		wg.Go(func() { t.Run(c.name, func(t *testing.T) { leaderDies(t, c.how) }) })
	}
}

func leaderDies(t *testing.T, how os.Signal) {
	server := ensemble(t)
	leaktest.Own(t)
	at := server.Endpoint()
	addrs := at.Addrs[0]
	const clients = 8
	o := zklock.ClientOptions{SessionTimeout: 4 * time.Second}
	r := &reign{acquisitions: make([]atomic.Int64, clients)}
	path := newPath()
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range clients {
		m := dial(t, at, o).Mutex(path, zklock.Options{})
		wg.Go(func() {
			for !r.over.Load() && !t.Failed() {
				r.visit(t, m, i)
			}
		})
	}
	defer r.over.Store(true)
	r.all(t)
	old := leader(t, server)
	if err := server.Signal(old, how); err != nil {
		t.Fatalf("the leader cannot be hurt: %v", err)
	}
	died := time.Now()
	acquisitions := r.sum()
	eventually(t, "there is another leader", func() bool { return leader(t, server) != old })
	elected := time.Since(died)
	eventually(t, "a client has had the lock", func() bool { return r.sum() > acquisitions+clients })
	first := time.Since(died)
	r.all(t)
	took := time.Since(died)
	t.Logf("another leader after %v, the lock for one client %v later, for each of %d after another %v; %d leases were lost",
		elected.Round(time.Millisecond), (first - elected).Round(time.Millisecond), clients, (took - first).Round(time.Millisecond), r.lost.Load())
	// A second or so, unless a client did not come back before its session was over.
	if limit := o.SessionTimeout + 4*time.Second; took-elected > limit {
		t.Errorf("not every client had the lock within %v of the election", limit)
	}
	r.over.Store(true)
	wg.Wait()
	at.Addrs = [][]string{slices.Delete(slices.Clone(addrs), old, old+1)}
	queued(t, raw(t, at), path, 0)
}

// A reign is the holders of one lock.
type reign struct {
	over         atomic.Bool
	inside       atomic.Int32
	last         atomic.Uint64 // token
	lost         atomic.Int64
	acquisitions []atomic.Int64 // by client
}

// visit takes the lock as client i. A holder that no server has answered for
// too long may lose it, but not without being told before the next one enters;
// and one that leaves may not hear in time that it has left.
func (r *reign) visit(t *testing.T, m *zklock.Mutex, i int) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := m.Lock(ctx)
	if err != nil {
		t.Errorf("Lock = %v", err)
		return
	}
	if n := r.inside.Add(1); n != 1 {
		t.Errorf("%d are inside", n)
	}
	if last := r.last.Swap(l.Token()); l.Token() <= last {
		t.Errorf("token %d after %d", l.Token(), last)
	}
	time.Sleep(time.Millisecond)
	r.inside.Add(-1)
	err = l.Unlock(ctx)
	if err == nil {
		r.acquisitions[i].Add(1)
		return
	}
	r.lost.Add(1)
	select {
	case <-l.Done(): // at once, or when a server has answered to the Unlock that goes on
	case <-ctx.Done():
	}
	if why := l.Err(); !errors.Is(why, zklock.ErrLost) && !errors.Is(why, zklock.ErrReleased) {
		t.Errorf("Unlock = %v, and the lease: %v", err, why)
	}
}

// sum returns how many acquisitions there have been.
func (r *reign) sum() (n int64) {
	for i := range r.acquisitions {
		n += r.acquisitions[i].Load()
	}
	return n
}

// all waits until each client has had the lock twice more: the second of them
// has begun since.
func (r *reign) all(t *testing.T) {
	t.Helper()
	before := make([]int64, len(r.acquisitions))
	for i := range before {
		before[i] = r.acquisitions[i].Load()
	}
	eventually(t, "every client has had the lock", func() bool {
		for i := range before {
			if r.acquisitions[i].Load() < before[i]+2 {
				return false
			}
		}
		return true
	})
}
