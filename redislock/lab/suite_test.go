package lab

import (
	"testing"

	"locklab/internal/layers"
)

// TestSuiteComplete: every lock of package redislock, and every one declared here, is
// in Suite.
func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }
