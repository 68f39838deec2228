package stat

// Pairs returns how many comparisons there may be among candidates, of which
// any may turn out to be the one that the others are compared with, and between
// each of them and each of rivals. The leader is taken from the same rounds as by
// how much: to correct for the comparisons that were made in the end, with that
// one lock, would promise too much.
func Pairs(candidates, rivals int) int {
	return candidates*(candidates-1)/2 + candidates*rivals
}

// Level returns the confidence at which each of so many comparisons must hold,
// so that they hold together with 95 %, however they depend on each other
// (Bonferroni). Fewer than one count as one.
//
// Source: C. Bonferroni, "Teoria statistica delle classi e calcolo delle
// probabilità", 1936; O. Dunn, "Multiple Comparisons among Means", JASA 56,
// 1961.
func Level(comparisons int) float64 { return LevelOf(1, comparisons) }

// LevelOf is Level for comparisons that may use up only this share, up to 1, of
// the chance of a false difference. If the shares of several families add up to
// 1, all of them hold together with 95 %.
func LevelOf(share float64, comparisons int) float64 {
	return 1 - share*(1-level95)/float64(max(1, comparisons))
}
