package redislock_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

type rotation struct {
	running
	server   redis.UniversalClient // as a user that may do anything
	password atomic.Value
	refused  atomic.Int64 // requests that were answered with WRONGPASS or NOPERM
}

func newRotation(t *testing.T) *rotation {
	r := &rotation{running: startAll(t, deployments[0])[0]}
	r.password.Store(aclPassword)
	r.server = r.admin(t)
	aclUser(t, r.options, aclUserName, []string{"on", ">" + aclPassword, "~*", "&*", "+@all"})
	return r
}

func (r *rotation) client(t *testing.T) *redislock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: r.options.Addrs[0], ContextTimeoutEnabled: true, MaxRetries: -1,
		CredentialsProvider: func() (string, string) { return aclUserName, r.password.Load().(string) }})
	t.Cleanup(func() { rdb.Close() })
	rdb.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "WRONGPASS") || redis.HasErrorPrefix(err, "NOPERM") {
			r.refused.Add(1)
		}
		return err
	}))
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	return c
}

func (r *rotation) do(t *testing.T, args ...any) {
	t.Helper()
	requireNoError(t, r.server.Do(t.Context(), args...).Err())
}

// TestPasswordRotated: while a new password is refused, waiters wait and held leases stay.
func TestPasswordRotated(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	leaktest.Own(t)
	const lease = 5 * time.Minute
	var holders []*redislock.Lease
	var waiters []<-chan *redislock.Lease
	var clients []*redislock.Client
	for _, kind := range kinds {
		name, c := newName(), r.client(t)
		holders = append(holders, lock(t, kind(c, name, redislock.Options{TTL: lease})))
		waiters = append(waiters, begun(t, kind(r.client(t), name, redislock.Options{TTL: lease})))
		clients = append(clients, c)
	}
	time.Sleep(100 * time.Millisecond) // most waiters wait by now
	r.do(t, "ACL", "SETUSER", aclUserName, "resetpass", ">new")
	r.do(t, "CLIENT", "KILL", "USER", aclUserName)
	before := r.refused.Load()
	var work sync.WaitGroup
	for i, l := range holders {
		work.Go(func() {
			if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, redislock.ErrUnanswered) {
				t.Errorf("Unlock = %v", err)
			}
		})
		work.Go(func() {
			l, err := clients[i].Mutex(newName(), redislock.Options{}).Lock(t.Context())
			if err == nil {
				err = l.Unlock(t.Context())
			}
			if err != nil {
				t.Errorf("Lock of a free lock = %v", err)
			}
		})
	}
	eventually(t, "the old password is refused", func() bool { return r.refused.Load() >= before+int64(4*len(holders)) })
	r.password.Store("new")
	work.Wait()
	for _, w := range waiters {
		unlock(t, take(t, w))
	}
}

// TestReleaseRepeated: a refused release is repeated until the server allows it.
func TestReleaseRepeated(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	leaktest.Own(t)
	for kind, make := range kinds {
		name := newName()
		l := lock(t, make(r.client(t), name, redislock.Options{TTL: time.Hour}))
		before := r.refused.Load()
		r.do(t, "ACL", "SETUSER", aclUserName, "-@all")
		if err := l.Unlock(t.Context()); err == nil || !strings.Contains(err.Error(), "rights that a user needs") || errors.Is(err, redislock.ErrNotHeld) {
			t.Errorf("%s: Unlock = %v, want what to do", kind, err)
		}
		requireOver(t, kind, l)
		eventually(t, "the client asks again", func() bool { return r.refused.Load() > before+1 })
		r.do(t, "ACL", "SETUSER", aclUserName, "+@all")
		eventually(t, kind+" is free", func() bool { return len(leftOf(t, r.server, name)) == 0 })
	}
}

// TestMoved: Lock and Unlock continue while two nodes of a cluster redirect to each other.
func TestMoved(t *testing.T) {
	t.Parallel()
	r := startAll(t, deployments[2])[0]
	leaktest.Own(t)
	rdb := r.connect(t).(*redis.ClusterClient)
	var moved atomic.Int64
	c := redislock.NewClient(rdb, redislock.ClientOptions{Trace: &redislock.Trace{Answered: func(i redislock.AnsweredInfo) {
		if redis.HasErrorPrefix(i.Err, "MOVED") {
			moved.Add(1)
		}
	}}})
	t.Cleanup(func() { c.Close() })
	name := newName()
	slot := rdb.ClusterKeySlot(t.Context(), name).Val()
	owner, err := rdb.MasterForKey(t.Context(), name)
	requireNoError(t, err)
	id := func(node *redis.Client) any { return node.Do(t.Context(), "CLUSTER", "MYID").Val() }
	others := make(chan any, 10)
	requireNoError(t, rdb.ForEachMaster(t.Context(), func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr != owner.Options().Addr {
			others <- id(node)
		}
		return nil
	}))
	lead := func(to any) {
		requireNoError(t, owner.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", to).Err())
	}
	self := id(owner)
	lead(<-others)
	got := begun(t, c.Mutex(name, redislock.Options{}))
	eventually(t, "the nodes lead to each other", func() bool { return moved.Load() > 2 })
	lead(self)
	unlock(t, take(t, got))
}

func requireOver(t *testing.T, kind string, l *redislock.Lease) {
	t.Helper()
	select {
	case <-l.Done():
	default:
		t.Errorf("%s: Done is open", kind)
	}
	if l.Err() == nil {
		t.Errorf("%s: Err is nil", kind)
	}
	if until, _ := l.Deadline(); until.After(time.Now()) {
		t.Errorf("%s: the deadline is in %v", kind, time.Until(until))
	}
}

// TestUnlockEnds: a lease is over for its owner when Unlock is called, answered or not.
func TestUnlockEnds(t *testing.T) {
	r := startSingle(t)
	var work sync.WaitGroup
	run := func(kind string, prompt bool) {
		make := kinds[kind]
		work.Go(func() {
			var cut atomic.Bool
			rdb := redis.NewClient(&redis.Options{Addr: r.options.Addrs[0], ContextTimeoutEnabled: prompt, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if cut.Load() {
					return nil, errors.New("the test has cut this link")
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			}})
			defer rdb.Close()
			c := redislock.NewClient(rdb, redislock.ClientOptions{})
			defer c.Close()
			l := lock(t, make(c, newName(), redislock.Options{}))
			asked := false
			rdb.AddHook(before([]string{"evalsha", "delex", "delifeq"}, func() {
				asked = true
				requireOver(t, kind, l)
			}))
			unlock(t, l)
			if !asked {
				t.Errorf("%s: no request was sent", kind)
			}
			if err := l.Err(); err != redislock.ErrReleased {
				t.Errorf("%s: Err = %v", kind, err)
			}
			l = lock(t, make(c, newName(), redislock.Options{}))
			cut.Store(true)
			rdb.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				if !cut.Load() {
					return next(ctx, cmd)
				}
				<-ctx.Done()
				cmd.SetErr(ctx.Err())
				return ctx.Err()
			}))
			if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrUnanswered) {
				t.Errorf("%s: Unlock without an answer = %v", kind, err)
			}
			requireOver(t, kind, l)
			if err := l.Err(); !errors.Is(err, redislock.ErrLost) {
				t.Errorf("%s: Err = %v", kind, err)
			}
			cut.Store(false)
		})
	}
	for kind := range kinds {
		run(kind, false)
		run(kind, true)
	}
	work.Wait()
}
