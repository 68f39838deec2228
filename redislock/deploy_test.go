package redislock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	locks "locklab/lock"
	"locklab/redislock"
)

func TestDeployments(t *testing.T) {
	t.Parallel()
	all := startAll(t, deployments...)
	for i, r := range all {
		for j, k := range lockKinds {
			t.Run(r.name+"/"+k.name, func(t *testing.T) {
				if testing.Short() && (i+j)%len(all) != 0 { // each kind somewhere, and some kind everywhere
					t.Skip("make test-all runs it")
				}
				alternateHolders(t, r, k)
			})
		}
	}
	for name, run := range map[string]func(*testing.T, []running){
		"cluster rights": clusterRights, "a node of a cluster": clusterNode, "a slot that migrates": slotMigrates, "cluster names": clusterNames,
	} {
		t.Run(name, func(t *testing.T) { run(t, all) })
	}
}

// alternate: of two clients one hands a lock over to the other soon, and nothing is left.
func alternateHolders(t *testing.T, r running, k lockKind) {
	admin := r.admin(t)
	for _, name := range []string{newName(), newName() + ":{tag}:x"} {
		a, b := k.make(r.client(t), name, calm), k.make(r.client(t), name, calm)
		began := time.Now()
		requireNoError(t, contendBriefly(t.Context(), a, b, k.fenced, 30*time.Millisecond))
		if took := time.Since(began); took > redislock.DefaultTTL/2 {
			t.Errorf("the handover took %v", took)
		}
		l, err := a.TryLock(t.Context())
		requireNoError(t, err) // it is free
		unlockLease(t, l)
		wantFree(t, admin, name)
	}
}

func keysOf(t *testing.T, rdb redis.UniversalClient, name string) []string {
	t.Helper()
	_, id, _ := strings.Cut(name, ":")
	id, _, _ = strings.Cut(id, ":")
	var keys []string
	find := func(ctx context.Context, c redis.Cmdable) error {
		scan := c.Scan(ctx, 0, "*"+id+"*", 1000).Iterator()
		for scan.Next(ctx) {
			keys = append(keys, scan.Val())
		}
		return scan.Err()
	}
	var err error
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		var mu sync.Mutex
		err = cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			return find(ctx, c)
		})
	} else {
		err = find(t.Context(), rdb)
	}
	requireNoError(t, err)
	return keys
}

func wantFree(t *testing.T, rdb redis.UniversalClient, name string) {
	t.Helper()
	for _, key := range leftOf(t, rdb, name) {
		t.Errorf("%s is left", key)
	}
}

// leftOf returns the remaining keys of the lock that do not expire by design.
func leftOf(t *testing.T, rdb redis.UniversalClient, name string) []string {
	t.Helper()
	return slices.DeleteFunc(keysOf(t, rdb, name), func(key string) bool {
		return (strings.HasSuffix(key, "~token") || strings.Contains(key, "~mail:")) && rdb.PTTL(t.Context(), key).Val() > 0
	})
}

func findNamed(all []running, name string) running {
	return all[slices.IndexFunc(all, func(r running) bool { return r.name == name })]
}

// clusterRights: a user of a cluster needs one more right, and its absence shows at once.
func clusterRights(t *testing.T, all []running) {
	r := findNamed(all, "cluster")
	for _, more := range []string{"+cluster|slots", ""} {
		rights := strings.Fields(strings.Join(documentedACL(t), " ") + " " + more)
		for _, addr := range r.options.Addrs {
			aclUser(t, redis.UniversalOptions{Addrs: []string{addr}}, aclUserName, rights)
		}
		user := r
		user.options.Username, user.options.Password = "locks", aclPassword
		for kind, err := range everyKind(t, user) {
			if more != "" && err != nil {
				t.Errorf("%s with %s: %v", kind, more, err)
			}
			if more == "" && (err == nil || !strings.Contains(err.Error(), "rights that a user needs")) {
				t.Errorf("%s without it: %v", kind, err)
			}
		}
	}
}

// clusterNames: only a cluster refuses a name whose companions would be in another slot.
func clusterNames(t *testing.T, all []running) {
	c, admin, single := findNamed(all, "cluster").client(t), findNamed(all, "cluster").admin(t), findNamed(all, "single").client(t)
	slot := func(key string) int64 { return admin.ClusterKeySlot(t.Context(), key).Val() }
	for name, good := range map[string]bool{
		"locks:a": true, "{a}": true, "x{a}y": true, "{a}{b}": true, "{a{b}": true, "{": true, "a{": true, "{a}}": true,
		"{}": false, "}": false, "a}b": false, "}{": false, "}{a}": true, "{}{a}": false, "a{}b": false,
	} {
		if same := slot(name) == slot(redislock.Companion(name, "queue")); same != good {
			t.Errorf("%q and its companion are in one slot: %t, want %t", name, same, good)
		}
		l, err := c.Mutex(name, redislock.Options{}).TryLock(t.Context())
		switch {
		case good && err == nil:
			unlockLease(t, l)
		case good:
			t.Errorf("%q: %v", name, err)
		case !errors.Is(err, redislock.ErrUsage) || !strings.Contains(err.Error(), "braces"):
			t.Errorf("%q in a cluster: %v, want ErrUsage and a hint to braces", name, err)
		}
		unlockLease(t, lockNow(t, single.Mutex(name, redislock.Options{})))
		l, err = c.PollMutex(name, redislock.PollOptions{}).TryLock(t.Context())
		if err != nil {
			t.Fatalf("a lock of one key called %q: %v", name, err)
		}
		unlockLease(t, l)
	}
}

// slotMigrates: held locks whose slot moves are renewed, released, and granted to the waiters.
// Free ones are taken by one client at a time, with rising tokens.
func slotMigrates(t *testing.T, all []running) {
	r := findNamed(all, "cluster")
	m, o := newMigration(t, r), redislock.Options{TTL: 1200 * time.Millisecond, Margin: time.Millisecond}
	cs := startContests(t, r, o, func(k lockKind) string { return m.tag + k.name })
	renewed := func() {
		t.Helper()
		for _, c := range cs {
			requireRenewal(t, c.held, o)
		}
	}
	last := make(map[string]uint64)
	for _, c := range cs {
		last[c.name] = uint64(time.Now().Add(time.Hour).UnixMicro())
		requireNoError(t, m.admin.Set(t.Context(), redislock.Companion(c.name+":free", "token"), last[c.name], time.Hour).Err())
	}
	taken := func() {
		t.Helper()
		for _, c := range cs {
			last[c.name] = c.takeFree(t, r, o, last[c.name])
		}
	}
	gone := lockNow(t, r.client(t).Mutex(m.tag+"gone", redislock.Options{}))
	m.begin(t)
	m.from.Del(t.Context(), m.tag+"gone")
	requireLost(t, gone)
	renewed()
	taken()
	m.loseReplies(t, r)
	for _, c := range cs {
		m.move(t, c.name)
	}
	renewed()
	m.moveAll(t)
	renewed()
	taken()
	for _, c := range cs {
		unlockLease(t, c.held)
	}
	m.end(t)
	taken()
	over := time.Now()
	for _, c := range cs {
		c.requireServed(t, over.Add(redislock.DefaultTTL/2))
		waitUntil(t, "nothing is left of "+c.kind.name, func() bool { return len(leftOf(t, m.admin, c.name)) == 0 })
	}
}

// takeFree takes a lock of c's kind by two clients in turn, with tokens above last.
func (c contest) takeFree(t *testing.T, r running, o redislock.Options, last uint64) uint64 {
	t.Helper()
	a, b := c.kind.make(r.client(t), c.name+":free", o), c.kind.make(r.client(t), c.name+":free", o)
	for range 2 {
		l := lockNow(t, a)
		_, err := b.TryLock(t.Context())
		if !errors.Is(err, redislock.ErrNotAcquired) || c.kind.fenced && l.Token() <= last {
			t.Errorf("%s: token %d after %d; TryLock by another = %v", c.kind.name, l.Token(), last, err)
		}
		last = l.Token()
		unlockLease(t, l)
		a, b = b, a
	}
	return last
}

// loseReplies: a lock whose slot migrates is free soon after lost replies to each of its requests.
func (m *migration) loseReplies(t *testing.T, r running) {
	t.Helper()
	l := &link{conns: make(map[*lossy]bool)}
	r.options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == m.to.Options().Addr {
			return l.connect(ctx, network, addr)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	lossy := r.client(t).Mutex(m.tag+"lossy", redislock.Options{Wait: patience})
	for _, op := range []string{"seize", "draw"} {
		lose := int32(40) // replies, also to repetitions by the client library
		ctx := redislock.WithTrace(t.Context(), &redislock.Trace{Sent: func(i locks.SentInfo) {
			if i.Op == op {
				l.lose.Store(lose)
				lose = 0
			}
		}})
		lease, err := lossy.Lock(ctx)
		requireNoError(t, err)
		unlockLease(t, lease)
	}
}

func requireRenewal(t *testing.T, l *redislock.Lease, o redislock.Options) {
	t.Helper()
	now := time.Now()
	waitUntil(t, "a renewal", func() bool {
		until, _ := l.Deadline()
		if l.Err() != nil {
			t.Fatal("the lease is lost:", l.Err())
		}
		return until.After(now.Add(o.TTL - o.TTL/100 - 2*time.Millisecond - o.Margin))
	})
}

// A migration moves the slot of the names that begin with tag to another node of a cluster.
type migration struct {
	tag      string
	slot     int64
	admin    *redis.ClusterClient
	from, to *redis.Client
	nodes    []*redis.Client
}

func newMigration(t *testing.T, r running) *migration {
	t.Helper()
	m := &migration{tag: "locks:{" + rand.Text() + "}", admin: r.admin(t).(*redis.ClusterClient)}
	var err error
	m.from, err = m.admin.MasterForKey(t.Context(), m.tag)
	requireNoError(t, err)
	m.slot = m.from.ClusterKeySlot(t.Context(), m.tag).Val()
	for _, addr := range r.Endpoint().Addrs[0] {
		node := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { node.Close() })
		if m.nodes = append(m.nodes, node); addr != m.from.Options().Addr {
			m.to = node
		}
	}
	return m
}

// begin redirects requests for missing keys to the other node.
func (m *migration) begin(t *testing.T) {
	t.Helper()
	m.set(t, m.to, "importing", m.from)
	m.set(t, m.from, "migrating", m.to)
}

func (m *migration) end(t *testing.T) {
	t.Helper()
	m.set(t, m.to, "node", m.to)
	for _, node := range m.nodes {
		m.set(t, node, "node", m.to)
	}
}

func (m *migration) set(t *testing.T, at *redis.Client, state string, node *redis.Client) {
	t.Helper()
	id, err := node.Do(t.Context(), "cluster", "myid").Text()
	requireNoError(t, errors.Join(err, at.Do(t.Context(), "cluster", "setslot", m.slot, state, id).Err()))
}

func (m *migration) move(t *testing.T, keys ...string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(m.to.Options().Addr)
	args := []any{"migrate", host, port, "", 0, 5000, "keys"}
	for _, key := range keys {
		args = append(args, key)
	}
	requireNoError(t, m.from.Do(t.Context(), args...).Err())
}

func (m *migration) moveAll(t *testing.T) {
	t.Helper()
	for {
		keys, err := m.from.ClusterGetKeysInSlot(t.Context(), int(m.slot), 100).Result()
		requireNoError(t, err)
		if len(keys) == 0 {
			return
		}
		m.move(t, keys...)
	}
}
