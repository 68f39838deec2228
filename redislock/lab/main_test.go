package lab_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"locklab/harness/locktest"
	"locklab/internal/leaktest"
)

// parallelTests is how many of the tests that call t.Parallel run beside each other:
// they wait most of the time, each with a server of its own.
const parallelTests = 6

// TestMain lets the client library keep silent about connections that tests break.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.Parallel(parallelTests)
	os.Exit(leaktest.Process{Tests: m, Packages: []string{"locklab/redislock", "locklab/redislock/lab", "github.com/redis/go-redis/v9"}}.Run())
}
