package zklock_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/zklock"
)

func TestMain(m *testing.M)      { lockbench.Main(m) }
func BenchmarkLock(b *testing.B) { lockbench.Run(b, zklock.Suite) }
