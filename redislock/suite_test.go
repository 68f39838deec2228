package redislock_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/redislock/lab"
)

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }
