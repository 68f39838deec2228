//go:build !systematic

// With the tag systematic a Mutex pools no waiters, and so breaks the rule no-allocation.

package mutex_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/mutex/lab"
)

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }

// TestUnderQEMU runs the locks on emulated CPUs, without bravo: see package spinlock's.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	locktest.UnderQEMU(t, lab.Suite, "bravo")
}

func TestMain(m *testing.M)      { lockbench.Main(m) }
func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }
