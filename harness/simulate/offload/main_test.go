package offload

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/spinlock/lab"
)

// broken are locks that simulations must reject.
var broken = []*harness.Variant{
	{Name: "test-open", Doc: "lets all in", Paper: "none", Family: harness.Spin, Status: harness.Broken,
		Local: func(harness.Setup) harness.Local { return harness.Shared(open{}) }},
	{Name: "test-exits", Doc: "ends its process", Paper: "none", Family: harness.Spin, Status: harness.Broken,
		Local: func(harness.Setup) harness.Local { return harness.Shared(exits{}) }},
}

type open struct{}

func (open) Lock()   {}
func (open) Unlock() {}

type exits struct{}

func (exits) Unlock() {}

func (exits) Lock() {
	fmt.Fprintln(os.Stderr, "the last words")
	os.Exit(3)
}

func TestMain(m *testing.M) {
	Main(slices.Concat(lab.Suite, broken))
	os.Exit(m.Run())
}
