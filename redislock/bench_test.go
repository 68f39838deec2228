package redislock_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock/lab"
)

// parallelTests is how many of the tests that call t.Parallel run beside each other, whatever
// the number of processors: they wait for leases and timeouts most of the time, each with
// a server of its own. Those that do not call it run before them, one at a time, as do
// those that measure the whole process.
const parallelTests = 6

// TestMain lets the client library keep silent about the servers that tests kill.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.Parallel(parallelTests)
	// Tests that run beside others do not see what their timers leave.
	lockbench.Main(leaktest.Process{Tests: m, Packages: []string{"locklab/redislock", "github.com/redis/go-redis/v9"}})
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }
