package zklock_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/zklock/lab"
)

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }
