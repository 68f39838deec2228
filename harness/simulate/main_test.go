package simulate

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/leaktest"
	"locklab/spinlock/lab"
)

var broken = []*harness.Variant{
	{Name: "test-open", Doc: "lets all in", Paper: "none", Family: harness.Spin, Status: harness.Broken,
		Local: func(harness.Setup) harness.Local { return harness.Shared(new(open)) }},
	{Name: "test-unseen", Doc: "is made of other words", Paper: "none", Family: harness.Spin, Status: harness.Broken,
		Local: func(harness.Setup) harness.Local { return harness.Shared(new(unseen)) }},
	{Name: "test-exits", Doc: "ends its process", Paper: "none", Family: harness.Spin, Status: harness.Broken,
		Local: func(harness.Setup) harness.Local { return harness.Shared(exits{}) }},
}

type open struct{ n atomics.Uint32 }

func (l *open) Lock()   { l.n.Add(1) }
func (l *open) Unlock() { l.n.Add(1) }

type unseen struct{ held atomic.Bool }

func (l *unseen) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
}

func (l *unseen) Unlock() { l.held.Store(false) }

type exits struct{}

func (exits) Unlock() {}

func (exits) Lock() {
	fmt.Fprintln(os.Stderr, "the last words")
	os.Exit(3)
}

func TestMain(m *testing.M) {
	OffloadMain(slices.Concat(lab.Suite, broken))
	os.Exit(leaktest.Process{Tests: m, Packages: []string{"locklab/harness/simulate.(*sim)", "locklab/harness/simulate.(*Pool)"}}.Run())
}
