package stat

import (
	"slices"
)

// Holm corrects ps, each the P of one comparison, for being read together. Taking those under
// alpha for differences is wrong about any of them with probability of at most alpha.
//
// Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
// Scandinavian Journal of Statistics 6(2), 1979.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	least := 0.0
	for i, at := range order {
		least = max(least, min(1, float64(len(ps)-i)*ps[at]))
		out[at] = least
	}
	return out
}
