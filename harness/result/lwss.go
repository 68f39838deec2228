package result

// LWSS is the size of the lock working set, in percent of the workers: the number of
// different workers that hold the lock in a window of as many acquisitions as there are
// workers, averaged over disjoint windows. Strict rotation gives 100, random choice about
// 63, one owner 100/workers.
//
// Source: D. Dice, "Measuring short-term fairness for locks", 2014, and "Malthusian
// Locks", EuroSys 2017, which do not fix the length of the window. A window of one round
// of all workers makes the figure comparable between numbers of workers.
var LWSS = short("working-set", "lwss-%",
	"share of the workers that hold the lock within as many acquisitions as there are workers",
	"Dice 2014", "",
	func(log owners) (float64, bool) {
		last := make([]int, log.workers) // the window in which each worker was last seen
		windows, distinct := 0, 0
		for burst := range log.bursts() {
			for ; len(burst) >= log.workers; burst = burst[log.workers:] {
				windows++
				for _, id := range burst[:log.workers] {
					if last[id] != windows {
						last[id] = windows
						distinct++
					}
				}
			}
		}
		if windows == 0 {
			return 0, false
		}
		return 100 * float64(distinct) / float64(windows*log.workers), true
	})
