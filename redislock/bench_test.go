package redislock_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/internal/leaktest"
	"locklab/redislock/lab"
)

// parallelTests is the number of parallel tests, whatever the processors: most of the time
// they wait. Tests of the whole process run before them.
const parallelTests = 6

// TestMain silences the client library about the servers that tests kill.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.Parallel(parallelTests)
	// Parallel tests cannot check their leftover timers.
	lockbench.Main(leaktest.Process{Tests: m, Packages: []string{"locklab/redislock", "github.com/redis/go-redis/v9"}})
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }
