package result

import "locklab/harness"

// Jain is Jain's fairness index of the workers' acquisitions x within slices of one
// length, in percent, the mean of the slices of the window:
//
//	100 · (Σx)² / (n · Σx²)
//
// It is 100 if all n workers got the same in each slice and 100/n if one got everything:
// an index of 40 % reads "as if 40 % of the workers shared the lock equally". A lock that
// moves to another worker every 50 ms is unfair over 20 ms and fair over a second. So an
// index over the window rises with the window's length. This one does not: a slice lasts
// 20 ms, or 60 ms for a distributed lock, the shortest windows of a budget.
//
// It is a mean because the expected mean does not depend on the number of slices, unlike
// the median of a skewed distribution.
//
// Counts are whole, so the workers can have equal counts only if their number divides the
// number of acquisitions. The index of a slice is relative to the highest that its number
// of acquisitions allows: a lock that serves in turn has 100. With 20 acquisitions per
// worker that corrects less than 0.1 points, with one and a half 11 %. A slice with fewer
// acquisitions than workers is inconclusive, since some may have starved or it was too
// short. It is left out. If more are left out than remain, fairness is unknown, as in a
// window shorter than a slice.
//
// Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and
// Discrimination for Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984.
// Over windows of one length, there of packets: C. Koksal, H. Kassab, H. Balakrishnan,
// "An Analysis of Short-Term Fairness in Wireless Media Access Protocols", SIGMETRICS
// 2000.
var Jain = &Metric{
	Name:   "jain",
	Unit:   "jain-slice-%",
	Doc:    "Jain's fairness index within slices of 20 ms (60 ms of locks kept by servers): 100 is equal shares, 100/workers is one owner",
	Paper:  "Jain, Chiu & Hawe 1984",
	Better: Higher,
	Of: func(r *harness.Result) (float64, bool) {
		var total float64
		known, all := 0, 0
		for counts := range sliced(r) {
			all++
			if n := sumOf(counts); n >= float64(len(counts)) {
				known++
				total += jain(counts) / mostJain(n, float64(len(counts)))
			}
		}
		if known == 0 || 2*known < all {
			return 0, false
		}
		return 100 * total / float64(known), true
	},
}

// WindowJain is [Jain] of the window as a whole: the shares over the window's own length,
// which differs between runs. It is for runs without slices.
var WindowJain = long("window-jain", "jain-%",
	"Jain's fairness index over the window, whatever its length: not to be compared between windows of different lengths",
	"Jain, Chiu & Hawe 1984", Higher,
	func(desc []float64, _ float64) float64 { return 100 * jain(desc) })

func jain(xs []float64) float64 {
	var squares float64
	for _, x := range xs {
		squares += x * x
	}
	sum := sumOf(xs)
	return sum * sum / (float64(len(xs)) * squares)
}

// mostJain returns the highest index that n acquisitions can have with this many workers,
// n >= workers: no two counts differ by more than one.
func mostJain(n, workers float64) float64 {
	least := float64(int(n / workers))
	more := n - least*workers // workers with one acquisition more
	return n * n / (workers * (more*(least+1)*(least+1) + (workers-more)*least*least))
}

func sumOf(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}
