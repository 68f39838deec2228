package mutex_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/mutex/lab"
)

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }

// TestUnderQEMU runs the locks on emulated CPUs. It omits bravo, which stores one word and
// then loads another and relies on that order: see the test of this name in package spinlock.
func TestUnderQEMU(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	locktest.UnderQEMU(t, lab.Suite, map[string]string{
		"bravo": "it needs a store and a later load in order, and qemu on amd64 does not keep STLR and LDAR in order",
	})
}
