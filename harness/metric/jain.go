package metric

// Jain is Jain's fairness index of the workers' acquisitions x, in percent:
//
//	100 · (Σx)² / (n · Σx²)
//
// It is 100 if all n workers got the same and 100/n if one got everything: an
// index of 40 % reads "as if 40 % of the workers shared the lock equally".
//
// Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and
// Discrimination for Resource Allocation in Shared Computer Systems",
// DEC-TR-301, 1984.
var Jain = long("jain", "jain-%",
	"Jain's fairness index: 100 is equal shares, 100/workers is one owner",
	"Jain, Chiu & Hawe 1984", Higher,
	func(desc []float64, sum float64) float64 {
		var squares float64
		for _, x := range desc {
			squares += x * x
		}
		return 100 * sum * sum / (float64(len(desc)) * squares)
	})
