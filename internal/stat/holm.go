package stat

import (
	"cmp"
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := make([]float64, len(ps))
	least := 0.0
	for i, at := range order {
		least = max(least, min(1, float64(len(ps)-i)*ps[at]))
		out[at] = least
	}
	return out
}

// Pairs returns the number of pairs of n cases. It is the family of the comparisons with
// a leader that the same rounds choose.
func Pairs(n int) int { return n * (n - 1) / 2 }

// Level returns the confidence that each comparison needs so that all hold together with 95 %,
// for any dependence (Bonferroni). Fewer than one count as one.
//
// Source: C. Bonferroni, "Teoria statistica delle classi e calcolo delle probabilità", 1936;
// O. Dunn, "Multiple Comparisons among Means", JASA 56, 1961.
func Level(comparisons int) float64 { return 1 - (1-level95)/float64(max(1, comparisons)) }

// DefaultMargin is the tolerance for rates and costs, as a share. Two builds of one lock can
// differ by 5 % because of their layout in memory (C. Curtsinger, E. Berger, "Stabilizer",
// ASPLOS 2013; T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously
// Wrong!", ASPLOS 2009), so a smaller difference may be no property of the lock.
const DefaultMargin = 0.05

// MaxMargin is the greatest meaningful margin: a factor of ten more.
const MaxMargin = 10

// Inverse returns the inverse ratio; its median is not exactly the median of the inverses.
func (r Ratio) Inverse() Ratio {
	r.Median, r.Lo, r.Hi = 1/r.Median, 1/r.Hi, 1/r.Lo
	return r
}
