package zklock_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/peers"
)

// TestFaultsReject: the trials reject locks with each of the faults that they look for.
func TestFaultsReject(t *testing.T) {
	t.Parallel()
	at := endpoint(t)
	leaktest.Own(t)
	fair := variant(t, "zk-fair")
	var wg sync.WaitGroup
	for _, c := range []struct {
		name string
		v    *harness.Variant
		op   string
		want string
	}{
		{"a lock that excludes none", broken(fair, func(harness.Session, *wirezk.Conn, string) harness.Session { return open{} }), "", "at once"},
		{"a lost reply gives up", named(t, "go-zookeeper-lock"), "getChildren2", "connection closed"},
		{"the ticket of a waiter that gave up is left in the queue", broken(named(t, "go-zookeeper-lock"), retrying), "getChildren2", "deadline"},
		{"a node is left behind", broken(fair, leavingNodes), "create", "still"},
		{"the accident does not happen", fair, "exists", "shows nothing"},
	} {
		wg.Go(func() {
			tr := newTrial(at, c.v)
			tr.op, tr.do, tr.patience = c.op, faultproxy.LoseReply, 5*time.Second
			if err := tr.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
			}
		})
	}
	wg.Wait()
}

func named(t *testing.T, name string) *harness.Variant {
	for _, v := range peers.Suite {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no peer is called %s", name)
	return nil
}

// broken returns v with a fault that wrap adds to its sessions, but not to see.
func broken(v *harness.Variant, wrap func(s harness.Session, see *wirezk.Conn, path string) harness.Session) *harness.Variant {
	bad := *v
	bad.Traits.Fenced = false
	bad.Remote = func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r, err := v.Remote(ctx, at, key)
		if err != nil {
			return nil, err
		}
		see, err := wirezk.Connect(ctx, at, wirezk.Options{})
		return &badRemote{r, see, func(s harness.Session) harness.Session { return wrap(s, see, "/locklab/"+key) }}, err
	}
	return &bad
}

type badRemote struct {
	harness.Remote
	see  *wirezk.Conn
	wrap func(harness.Session) harness.Session
}

func (r *badRemote) Join(ctx context.Context, i int) (harness.Session, error) {
	s, err := r.Remote.Join(ctx, i)
	return r.wrap(s), err
}

func (r *badRemote) Close() error {
	r.see.Close()
	return r.Remote.Close()
}

type open struct{}

func (open) Lock(context.Context) (harness.Lease, error) { return open{}, nil }
func (open) Unlock(context.Context) error                { return nil }
func (open) Close() error                                { return nil }
func (open) Token() uint64                               { return 0 }
func (open) Done() <-chan struct{}                       { return nil }
func (open) Err() error                                  { return nil }
func (open) Deadline() (time.Time, bool)                 { return time.Time{}, false }

func retrying(s harness.Session, _ *wirezk.Conn, _ string) harness.Session {
	return retry{s}
}

type retry struct{ harness.Session }

func (r retry) Lock(ctx context.Context) (l harness.Lease, err error) {
	for {
		if l, err = r.Session.Lock(ctx); err == nil || ctx.Err() != nil {
			return l, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func leavingNodes(s harness.Session, see *wirezk.Conn, path string) harness.Session {
	return leftNodes{s, see, path}
}

type leftNodes struct {
	harness.Session
	see  *wirezk.Conn
	path string
}

func (s leftNodes) Lock(ctx context.Context) (harness.Lease, error) {
	l, err := s.Session.Lock(ctx)
	if err == nil {
		_, err = s.see.Create(s.path+"/left-"+rand.Text(), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
	return l, err
}
