package spinlock_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/spinlock/lab"
)

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }

// TestUnderQEMU runs the locks on emulated CPUs, except locks that rely on a store before a
// load of another word: qemu 7.2 makes STLR and LDAR plain, which amd64 reorders. Hapax hangs
// there within seconds, but not with swaps; the other two have not failed yet.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	locktest.UnderQEMU(t, lab.Suite, "hapax", "peterson", "bakery")
}

func TestMain(m *testing.M)      { lockbench.Main(m) }
func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }
