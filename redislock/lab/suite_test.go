package lab

import (
	"testing"

	"locklab/internal/layers"
)

// TestSuiteComplete: Suite contains every lock of package redislock and of this package.
func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }
