package lab_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"locklab/harness/locktest"
	"locklab/internal/leaktest"
)

// parallelTests is the number of parallel tests: they wait most of the time.
const parallelTests = 6

// TestMain silences the client library about connections that tests break.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.Parallel(parallelTests)
	os.Exit(leaktest.Process{Tests: m, Packages: []string{"locklab/redislock", "locklab/redislock/lab", "github.com/redis/go-redis/v9"}}.Run())
}
