package simulate

import (
	"os"
	"testing"

	"locklab/internal/leaktest"
)

func TestMain(m *testing.M) {
	os.Exit(leaktest.Process{Tests: m, Packages: []string{"locklab/harness/simulate.(*sim)"}}.Run())
}
