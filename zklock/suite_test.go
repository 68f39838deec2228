package zklock_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/internal/layers"
	"locklab/zklock"
)

func TestSuite(t *testing.T) { locktest.Run(t, zklock.Suite) }

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", zklock.Suite) }
