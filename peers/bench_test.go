package peers_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/peers"
)

// TestMain lets more tests run beside each other than there are processors: they
// wait for servers, timeouts and elections.
func TestMain(m *testing.M) {
	locktest.Parallel(4)
	lockbench.Main(m)
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, peers.Suite) }
