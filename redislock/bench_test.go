package redislock_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/redislock"
)

func TestMain(m *testing.M)      { lockbench.Main(m) }
func BenchmarkLock(b *testing.B) { lockbench.Run(b, redislock.Suite) }
