package peers_test

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/internal/layers"
	"locklab/peers"
)

func TestSuite(t *testing.T) { locktest.Run(t, suiteHere(t)) }

// suiteHere is peers.Suite. Under the race detector it has only one of Curator's locks, the one
// with readers: they differ in Java, which the detector does not see, and share all Go code.
func suiteHere(t *testing.T) (suite []*harness.Variant) {
	for _, v := range peers.Suite {
		if raceEnabled && strings.HasPrefix(v.Name, "curator-") && !v.Traits.ReadWrite {
			t.Run(v.Name, func(t *testing.T) {
				t.Skip("it differs from curator-rw in Java only, which the race detector does not see; it runs without -race")
			})
			continue
		}
		suite = append(suite, v)
	}
	return suite
}

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", peers.Suite) }

// TestMain runs more tests in parallel than there are processors: most of them wait.
func TestMain(m *testing.M) {
	locktest.Parallel(4)
	lockbench.Main(m)
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, peers.Suite) }
