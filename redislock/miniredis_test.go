package redislock_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/leaktest"
	"locklab/redislock"
)

// TestMiniredis: every kind of lock works with miniredis.
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
