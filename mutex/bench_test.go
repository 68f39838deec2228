package mutex_test

import (
	"testing"

	"locklab/harness/lockbench"
	"locklab/mutex/lab"
)

func TestMain(m *testing.M)      { lockbench.Main(m) }
func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }
