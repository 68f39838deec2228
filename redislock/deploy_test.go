package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

func TestDeployments(t *testing.T) {
	t.Parallel()
	all := startAll(t, deployments...)
	for _, r := range all {
		for _, k := range lockKinds {
			t.Run(r.name+"/"+k.name, func(t *testing.T) {
				leaktest.Own(t)
				alternate(t, r, k)
			})
		}
	}
	for name, run := range map[string]func(*testing.T, []running){
		"cluster rights": clusterRights, "a node of a cluster": clusterNode, "a slot that migrates": slotMigrates, "cluster names": clusterNames,
	} {
		t.Run(name, func(t *testing.T) {
			leaktest.Own(t)
			run(t, all)
		})
	}
}

// alternate: of two clients one hands a lock over to the other soon, and nothing is left.
func alternate(t *testing.T, r running, k lockKind) {
	admin := r.admin(t)
	for _, name := range []string{newName(), newName() + ":{tag}:x"} {
		a, b := k.make(r.client(t), name, calm), k.make(r.client(t), name, calm)
		began := time.Now()
		requireNoError(t, contend(t.Context(), a, b, k.fenced, 30*time.Millisecond))
		if took := time.Since(began); took > redislock.DefaultTTL/2 {
			t.Errorf("the handover took %v", took)
		}
		l, err := a.TryLock(t.Context())
		requireNoError(t, err) // it is free
		unlock(t, l)
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

func named(all []running, name string) running {
	return all[slices.IndexFunc(all, func(r running) bool { return r.name == name })]
}

// clusterRights: a user of a cluster needs one more right, and its absence shows at once.
func clusterRights(t *testing.T, all []running) {
	r := named(all, "cluster")
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
	c, admin, single := named(all, "cluster").client(t), named(all, "cluster").admin(t), named(all, "single").client(t)
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
			unlock(t, l)
		case good:
			t.Errorf("%q: %v", name, err)
		case !errors.Is(err, redislock.ErrUsage) || !strings.Contains(err.Error(), "braces"):
			t.Errorf("%q in a cluster: %v, want ErrUsage and a hint to braces", name, err)
		}
		unlock(t, lock(t, single.Mutex(name, redislock.Options{})))
		l, err = c.PollMutex(name, redislock.PollOptions{}).TryLock(t.Context())
		if err != nil {
			t.Fatalf("a lock of one key called %q: %v", name, err)
		}
		unlock(t, l)
	}
}

// slotMigrates: a held lock whose slot moves is renewed, released, and granted to the waiter.
func slotMigrates(t *testing.T, all []running) {
	r, one := named(all, "cluster"), new(slots)
	for _, k := range lockKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			m, asked := newMigration(t, r, one), make(chan string, 100)
			o := redislock.Options{TTL: 1200 * time.Millisecond, Margin: time.Millisecond}
			held := lock(t, k.make(r.client(t), m.name, o))
			waiter := redislock.NewClient(r.connect(t), redislock.ClientOptions{Trace: &redislock.Trace{Answered: func(i redislock.AnsweredInfo) {
				select {
				case asked <- i.Op:
				default:
				}
			}}})
			defer waiter.Close()
			got := begun(t, k.make(waiter, m.name, calm))
			<-asked
			m.begin(t)
			requireRenewal(t, held, o)
			m.move(t, m.name)
			requireRenewal(t, held, o)
			m.moveAll(t)
			requireRenewal(t, held, o)
			unlock(t, held)
			m.end(t)
			ended := time.Now()
			unlock(t, take(t, got))
			between(t, "the handover", time.Since(ended), -redislock.DefaultTTL, redislock.DefaultTTL/2)
			third := lock(t, k.make(r.client(t), m.name, o))
			unlock(t, third)
			eventually(t, "nothing is left", func() bool { return len(leftOf(t, m.admin, m.name)) == 0 })
		})
	}
}

func requireRenewal(t *testing.T, l *redislock.Lease, o redislock.Options) {
	t.Helper()
	now := time.Now()
	eventually(t, "a renewal", func() bool {
		until, _ := l.Deadline()
		if l.Err() != nil {
			t.Fatal("the lease is lost:", l.Err())
		}
		return until.After(now.Add(o.TTL - o.TTL/100 - 2*time.Millisecond - o.Margin))
	})
}
