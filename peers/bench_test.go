package peers_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/peers"
)

func TestMain(m *testing.M)      { lockbench.Main(m) }
func BenchmarkLock(b *testing.B) { lockbench.Run(b, peers.Suite) }
