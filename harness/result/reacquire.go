package result

import "slices"

// Reacquire is the median time to reacquire: the number of acquisitions by others between
// two of the same worker. Strict rotation gives workers-1; a lock that an owner mostly
// reacquires at once gives 0. Each pair of successive acquisitions counts once,
// regardless of its duration, so starving workers hardly affect it: see [GapP99] for
// them.
//
// Source: the MTTR of D. Dice, "Measuring short-term fairness for locks", 2014.
var Reacquire = short("reacquire", "mttr-acq",
	"median number of acquisitions by others between two of the same worker",
	"Dice 2014", "",
	func(log owners) (float64, bool) {
		var between []int
		for burst := range log.bursts() {
			last := make([]int, log.workers) // 1 + where each worker was last seen
			for i, id := range burst {
				if last[id] > 0 {
					between = append(between, i-last[id])
				}
				last[id] = i + 1
			}
		}
		if len(between) == 0 {
			return 0, false
		}
		slices.Sort(between)
		mid := len(between) / 2
		if len(between)%2 == 0 {
			return float64(between[mid-1]+between[mid]) / 2, true
		}
		return float64(between[mid]), true
	})
