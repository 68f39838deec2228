package mutex_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/internal/layers"
	"locklab/mutex"
)

func TestSuite(t *testing.T)         { locktest.Run(t, mutex.Suite) }
func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", mutex.Suite) }
