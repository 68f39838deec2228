//go:build linux || darwin || freebsd

package redislock_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"locklab/redislock"
)

// TestHealthCheck: silent connections close only if the server hangs or is replaced.
func TestHealthCheck(t *testing.T) {
	t.Parallel()
	rs := startAll(t, deployments[0], deployments[0])
	if len(rs) < 2 {
		return
	}
	const every = 50 * time.Millisecond
	one, other := rs[0].options.Addrs[0], rs[1].options.Addrs[0]
	for _, test := range []struct {
		name, server string
		hang         bool // the first server does
		move         bool // the address leads to the second
		want         bool // the connection is closed
	}{
		{"a server that answers", "", false, false, false},
		{"a server that answers, by Sentinel", redislock.ByFailover, false, false, false},
		{"a name of several servers", "", false, true, false},
		{"Sentinel names another", redislock.ByFailover, false, true, true},
		{"a server that hangs", "", true, false, true},
		{"a server that hangs, by Sentinel", redislock.ByFailover, true, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var dials atomic.Int32
			var moved atomic.Bool
			tolerance, pop := patience, time.Second // a busy machine is not a hung server
			if test.want {
				tolerance, pop = 300*time.Millisecond, 2*patience
			}
			c := rs[0].client(t)
			dial := redislock.Watch(c, test.server, every, tolerance, func(ctx context.Context, network, _ string) (net.Conn, error) {
				addr := one
				if moved.Load() {
					addr = other
				}
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, addr)
			})
			rdb := redis.NewClient(&redis.Options{Addr: "x", Dialer: dial, MaxRetries: -1, PoolSize: 1})
			defer rdb.Close()
			waitUntil(t, "it is connected", func() bool { return rdb.Ping(t.Context()).Err() == nil })
			moved.Store(test.move)
			if test.hang {
				stopProcess(t, rs[0].PIDs()[0])
			}
			began := time.Now()
			if err := rdb.BLPop(t.Context(), pop, newName()).Err(); (err != redis.Nil) != test.want {
				t.Errorf("a pop of %v ends after %v with %v", pop, time.Since(began), err)
			}
			if dials.Load() < 2 {
				t.Error("no check was made")
			}
		})
	}
}

func stopProcess(t *testing.T, pid int) {
	t.Helper()
	requireNoError(t, unix.Kill(pid, unix.SIGSTOP))
	t.Cleanup(func() { expectNoError(t, unix.Kill(pid, unix.SIGCONT)) })
}
