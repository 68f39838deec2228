package lab

import (
	"testing"

	"locklab/internal/layers"
)

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }
