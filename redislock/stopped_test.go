package redislock_test

import (
	"testing"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock"
)

// TestStopped: a process that was stopped for longer than its lease gets another one.
func TestStopped(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindRedis)
	for name, stop := range redislock.Stopped {
		t.Run(name, func(t *testing.T) {
			c := redislock.NewClient(dial(t, at), redislock.ClientOptions{})
			t.Cleanup(func() { c.Close() })
			stop(t, c)
		})
	}
}
