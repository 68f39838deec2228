package result

import (
	"math/rand/v2"
	"slices"
	"testing"

	"locklab/harness"
)

func TestBypassByBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		workers, burst := 2+rng.IntN(4), 2+rng.IntN(12)
		r := &harness.Result{Burst: burst, Workers: make([]uint64, workers)}
		for range burst * (1 + rng.IntN(3)) {
			r.Owners = append(r.Owners, uint16(rng.IntN(workers)))
		}
		want := 0
		for b := range slices.Chunk(r.Owners, burst) {
			for passed := range workers {
				for other := range workers {
					run := 0
					for _, id := range b {
						switch int(id) {
						case passed:
							run = 0
						case other:
							run++
							want = max(want, run)
						}
					}
				}
			}
		}
		if got, ok := Bypass.Of(r); !ok || got != float64(want) {
			t.Fatalf("%v in bursts of %d: got %v, %v; want %d", r.Owners, burst, got, ok, want)
		}
	}
}
