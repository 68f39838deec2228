package stat

// Pairs returns the number of pairs of n cases. It is the family of the comparisons with
// a leader that the same rounds choose.
func Pairs(n int) int { return n * (n - 1) / 2 }

// Level returns the confidence that each comparison needs so that all hold together with 95 %,
// for any dependence (Bonferroni). Fewer than one count as one.
//
// Source: C. Bonferroni, "Teoria statistica delle classi e calcolo delle probabilità", 1936;
// O. Dunn, "Multiple Comparisons among Means", JASA 56, 1961.
func Level(comparisons int) float64 { return 1 - (1-level95)/float64(max(1, comparisons)) }
