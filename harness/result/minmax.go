package result

// MinMax is the acquisitions of the least served worker relative to the best served one,
// in percent: 100 is fair, 0 means that a worker starved.
//
// Source: the fairness check of Linux, kernel/locking/locktorture.c, which reports the
// greatest and least number of acquisitions of a writer.
var MinMax = long("min-max", "minmax-%",
	"acquisitions of the least served worker over those of the best served",
	"Linux locktorture", Higher,
	func(desc []float64, _ float64) float64 {
		return 100 * desc[len(desc)-1] / desc[0]
	})
