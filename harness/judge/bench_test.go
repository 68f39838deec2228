package judge

import (
	"fmt"
	"testing"
)

func BenchmarkCompare(b *testing.B) {
	for _, rounds := range []int{10, 25, 50} {
		for _, spread := range []float64{0.02, 0} {
			b.Run(fmt.Sprintf("rounds=%d/spread=%v", rounds, spread), func(b *testing.B) {
				base, next := make(rates), make(rates)
				for i := range 1000 {
					name := fmt.Sprintf("lock%d", i)
					base[name], next[name] = around(1e6, spread, rounds), around(0.9e6, spread, rounds)
				}
				x, y := madeRun(base), madeRun(next)
				for b.Loop() {
					if _, err := Compare(x, y, CompareOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
