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
		{"a lock that excludes none", broken(fair, excludingNone), "", "at once"},
		{"a lost reply gives up", variant(t, "go-zookeeper-lock"), "getChildren2", "connection closed"},
		{"the ticket of a waiter that gave up is left in the queue", broken(variant(t, "go-zookeeper-lock"), retrying), "getChildren2", "deadline"},
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

// broken returns v with a fault that wrap adds to the Lock of its sessions, but not to see.
func broken(v *harness.Variant, wrap func(lock lockFunc, see *wirezk.Conn, path string) lockFunc) *harness.Variant {
	bad := *v
	bad.Traits.Fenced = false
	bad.Remote = func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r, err := v.Remote(ctx, at, key)
		if err != nil {
			return nil, err
		}
		see, err := wirezk.Connect(ctx, at, wirezk.Options{})
		return &badRemote{r, see, func(lock lockFunc) lockFunc { return wrap(lock, see, "/locklab/"+key) }}, err
	}
	return &bad
}

type lockFunc func(context.Context) (harness.Lease, error)

type badRemote struct {
	harness.Remote
	see  *wirezk.Conn
	wrap func(lockFunc) lockFunc
}

func (r *badRemote) Join(ctx context.Context, i int) (harness.Session, error) {
	s, err := r.Remote.Join(ctx, i)
	if err != nil {
		return nil, err
	}
	return badSession{s, r.wrap(s.Lock)}, nil
}

func (r *badRemote) Close() error {
	r.see.Close()
	return r.Remote.Close()
}

type badSession struct {
	harness.Session
	lock lockFunc
}

func (s badSession) Lock(ctx context.Context) (harness.Lease, error) { return s.lock(ctx) }

// open is a lease of a lock that excludes none.
type open struct{ harness.Lease }

func (open) Unlock(context.Context) error { return nil }
func (open) Token() uint64                { return 0 }

func excludingNone(lockFunc, *wirezk.Conn, string) lockFunc {
	return func(context.Context) (harness.Lease, error) { return open{}, nil }
}

func retrying(lock lockFunc, _ *wirezk.Conn, _ string) lockFunc {
	return func(ctx context.Context) (l harness.Lease, err error) {
		for {
			if l, err = lock(ctx); err == nil || ctx.Err() != nil {
				return l, err
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func leavingNodes(lock lockFunc, see *wirezk.Conn, path string) lockFunc {
	return func(ctx context.Context) (harness.Lease, error) {
		l, err := lock(ctx)
		if err == nil {
			_, err = see.Create(path+"/left-"+rand.Text(), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		}
		return l, err
	}
}
