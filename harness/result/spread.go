package result

import "math"

// Spread is the standard deviation of the workers' acquisitions divided by their mean, in
// percent, over the workers as a whole population: 0 is fair. It is equivalent to
// [WindowJain], which is 100 / (1 + (Spread/100)²), but shows small differences better.
//
// Source: the RSTDDEV of D. Dice, "Malthusian Locks", EuroSys 2017.
var Spread = long("spread", "rstdev-%",
	"standard deviation of the workers' acquisitions over their mean",
	"Dice 2017", Lower,
	func(desc []float64, sum float64) float64 {
		mean := sum / float64(len(desc))
		var squares float64
		for _, x := range desc {
			squares += (x - mean) * (x - mean)
		}
		return 100 * math.Sqrt(squares/float64(len(desc))) / mean
	})
