package redislock_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/internal/layers"
	"locklab/redislock"
)

func TestSuite(t *testing.T) { locktest.Run(t, redislock.Suite) }

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", redislock.Suite) }
