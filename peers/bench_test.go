package peers_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/peers"
)

// TestMain runs more tests in parallel than there are processors: most of them wait.
func TestMain(m *testing.M) {
	locktest.Parallel(4)
	lockbench.Main(m)
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, peers.Suite) }
