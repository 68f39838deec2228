package result

// BusyHalf is the fairness factor, in percent: the share of all acquisitions that the
// busier half of the workers took. It is 50 if the lock is strictly fair and 100 if half
// of the workers starve. With an odd number of workers, the middle one counts half.
//
// Source: D. Dice, A. Kogan, "Compact NUMA-aware Locks", EuroSys 2019, §7.
var BusyHalf = long("busy-half", "busyhalf-%",
	"share of the acquisitions taken by the busier half of the workers",
	"Dice & Kogan 2019", Lower,
	func(desc []float64, sum float64) float64 {
		var top float64
		half := len(desc) / 2
		for _, x := range desc[:half] {
			top += x
		}
		if len(desc)%2 == 1 {
			top += desc[half] / 2
		}
		return 100 * top / sum
	})
