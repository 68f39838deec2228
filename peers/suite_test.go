package peers_test

import (
	"testing"

	"locklab/harness/locktest"
	"locklab/internal/layers"
	"locklab/peers"
)

func TestSuite(t *testing.T) { locktest.Run(t, peers.Suite) }

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", peers.Suite) }
