package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

type reindexer struct {
	locks *redislock.Client
	runs  atomic.Int32
}

var errBusy = errors.New("another process does it")

func (r *reindexer) run(ctx context.Context) error {
	l, err := r.locks.Mutex("locks:reindex", redislock.Options{}).TryLock(ctx)
	if errors.Is(err, redislock.ErrNotAcquired) {
		return errBusy
	}
	if err != nil {
		return err
	}
	defer l.Unlock(context.WithoutCancel(ctx))
	r.runs.Add(1)
	return nil
}

// Tests of a service need no server: every kind of lock works with miniredis. Such a test does
// not cover lost locks: the time of miniredis stands still, so leases end only by FastForward,
// and it has no pauses, no failover, no lost replies, and another Lua. For these use a real
// server behind a proxy.
func Example_miniredis() {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer rdb.Close()
	locks := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer locks.Close()

	ctx, service := context.Background(), &reindexer{locks: locks}
	fmt.Println("free:", service.run(ctx), service.runs.Load())

	// Another process has the lock: a second client.
	other := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer other.Close()
	held, err := other.Mutex("locks:reindex", redislock.Options{}).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", service.run(ctx), service.runs.Load())
	if err := held.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("free again:", service.run(ctx), service.runs.Load())
	// Output:
	// free: <nil> 1
	// held: another process does it 1
	// free again: <nil> 2
}

func TestMiniredis(t *testing.T) {
	leaktest.Own(t)
	server := miniredis.NewMiniRedis()
	requireNoError(t, server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer rdb.Close()
	c := redislock.NewClient(rdb, redislock.ClientOptions{})
	defer c.Close()
	for _, make := range lockables() {
		name := newKey()
		m, rival := make(c, name, redislock.Options{}), make(c, name, redislock.Options{})
		l := lock(t, m)
		got := begun(t, rival)
		unlock(t, l)
		unlock(t, take(t, got))
	}
}
