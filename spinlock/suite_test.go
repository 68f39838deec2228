package spinlock_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/internal/layers"
	"locklab/spinlock"
)

func TestSuite(t *testing.T)         { locktest.Run(t, spinlock.Suite) }
func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", spinlock.Suite) }
