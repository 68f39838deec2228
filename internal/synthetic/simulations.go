package synthetic

import (
	"math"

	"locklab/harness"
	"locklab/harness/result"
)

// Simulations returns synthetic simulations of locks on a machine with that many sockets
// and cores in each, one for each number of workers that it has threads for. The same
// arguments give the same results. Lock number i loses i tenths of its rate with each
// doubling of the workers, and the same again beyond the first socket.
func Simulations(machine string, sockets, cores int, workers []int, locks ...harness.Lock) (out []*result.Simulation) {
	for i, lock := range locks {
		for _, w := range workers {
			if w > sockets*cores {
				continue
			}
			s := &result.Simulation{
				Simulated: machine, Sockets: sockets, Clusters: 1, Cores: cores, SMT: 1, Lock: lock, Workers: w,
				Hold: 100, Wait: harness.WaitPause, Seed: 1, Seeds: 3, OnCores: w, OnSockets: (w + cores - 1) / cores,
			}
			loss := math.Pow(1+float64(i)/10, math.Log2(float64(w)))
			if s.OnSockets > 1 {
				loss *= 1 + float64(i)/10
			}
			of := func(median float64) result.Expected {
				return result.Expected{Median: median, Lo: 0.9 * median, Hi: 1.1 * median}
			}
			s.PerAcquisition, s.Longest = of(150*loss), of(150*loss*float64(w))
			s.Misses, s.Invalidated, s.Jain = of(1+3*loss), of(loss), result.Expected{Median: 1, Lo: 1, Hi: 1}
			if w > 1 {
				s.Handover = of(50 * loss)
			}
			if s.OnSockets > 1 {
				s.Remote, s.SameSocket = of(loss), of(0.5)
			}
			out = append(out, s)
		}
	}
	return out
}
