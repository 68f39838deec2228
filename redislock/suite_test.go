package redislock_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/redislock/lab"
)

func TestSuite(t *testing.T) {
	suite := lab.Suite
	if testing.Short() {
		t.Log("make test-all also runs the historical locks, which may fail, and redis-poll with other pauses")
		suite = slices.DeleteFunc(slices.Clone(suite), func(v *harness.Variant) bool { return !v.Status.Competes() || otherPauses(v) })
	}
	locktest.Run(t, suite)
}

// otherPauses reports whether v is redis-poll but for its pauses.
func otherPauses(v *harness.Variant) bool {
	return strings.HasPrefix(v.Name, "redis-poll-") || v.Name == "redis-spin"
}
