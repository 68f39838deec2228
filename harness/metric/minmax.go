package metric

// MinMax is what the least served worker got, as a share of what the best
// served one got, in percent: 100 is fair, 0 means that a worker starved.
//
// Source: the fairness check of Linux, kernel/locking/locktorture.c, which
// reports the greatest and least number of acquisitions of a writer.
var MinMax = long("min-max", "minmax-%",
	"acquisitions of the least served worker over those of the best served",
	"Linux locktorture", Higher,
	func(desc []float64, _ float64) float64 {
		return 100 * desc[len(desc)-1] / desc[0]
	})
