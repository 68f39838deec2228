package zklock_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/zklock/lab"
)

// TestMain runs more tests in parallel than there are processors: most of them wait.
func TestMain(m *testing.M) {
	locktest.Parallel(1 + max(2, runtime.GOMAXPROCS(0)))
	lockbench.Main(tests{m})
}

type tests struct{ *testing.M }

func (ts tests) Run() int {
	code := ts.M.Run()
	if err := stopCommon(); err != nil {
		fmt.Fprintln(os.Stderr, "the server of all tests:", err)
		return 1
	}
	return code
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }

func TestSuite(t *testing.T) { locktest.Run(t, lab.Suite) }
