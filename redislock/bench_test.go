package redislock_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"locklab/harness/lockbench"
	"locklab/redislock"
)

// TestMain lets the client library keep silent about the servers that tests kill.
func TestMain(m *testing.M) {
	logging.Disable()
	lockbench.Main(m)
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, redislock.Suite) }
