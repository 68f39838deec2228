//go:build systematic && simulate

package simulate

import (
	"fmt"

	"locklab/atomics"
	"locklab/harness"
)

// cell is a line of data.
type cell struct {
	v atomics.Uint64
	_ atomics.CacheLinePad
}

// Run simulates workers that take a lock again and again.
func Run(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, true)
}

// RunUnlocked is Run for a lock that lets in any number of workers.
func RunUnlocked(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, false)
}

func run(m *Machine, w Workload, lock func(harness.Setup) harness.Local, excludes bool) (Result, error) {
	if err := w.Validate(m); err != nil {
		return Result{}, err
	}
	w = w.withDefaults()
	s := newSim(m, w.Seed)
	s.log = w.Log
	if w.Exact {
		s.doze = 0
	}
	setup := harness.Setup{Workers: w.Workers, Wait: w.Wait, Pin: harness.PinCPU}
	for i := range w.Workers {
		setup.Nodes = append(setup.Nodes, m.cluster(place(m, w, i)/m.SMT))
	}
	l := lock(setup)
	data := make([]cell, w.Lines+1)
	var (
		turns    = make([]int64, w.Workers)
		total    int
		begun    int64
		base     Counts
		holder   = -1
		last     = -1
		left     int64
		handOver int64
		handed   int64
		longest  int64
		same     int64
		near     int64
		moved    int64
		wrong    error
		end      int64
	)
	for i := range w.Workers {
		h := l.Worker(i)
		s.cores = append(s.cores, s.newCore(i, place(m, w, i), func(c *core) {
			think := func() {
				if w.Think > 0 {
					c.spend(s.ps(w.Think * (0.5 + s.rng.Float64())))
				}
			}
			c.spend(int64(s.rng.Float64() * 100_000 * float64(w.Workers))) // in no order
			think()
			for {
				asked := c.clock
				h.Lock()
				if excludes && holder >= 0 && wrong == nil {
					wrong = fmt.Errorf("simulate: workers %d and %d are inside", holder, i)
				}
				holder = i
				total++
				if total == w.Warm {
					begun, base = c.clock, s.counts
				}
				if total > w.Warm {
					turns[i]++
					longest = max(longest, c.clock-asked)
					if last == i {
						same++
					} else {
						moved++
						if m.socket(c.cache) == m.socket(s.cores[last].cache) {
							near++
						}
						if asked < left {
							handOver += c.clock - left
							handed++
						}
					}
				}
				last, s.progress = i, s.now
				for k := range w.Lines {
					v := &data[k].v
					v.StoreRelease(v.Load() + 1)
				}
				c.spend(s.ps(w.Hold))
				holder, left = -1, c.clock
				end = c.clock
				if total == w.Warm+w.Turns || wrong != nil || w.Limit > 0 && s.now > w.Limit {
					s.halted = true
				}
				h.Unlock()
				think()
			}
		}))
	}
	s.stuck = 100_000_000_000
	s.simulate()
	if wrong == nil && !s.halted {
		wrong = fmt.Errorf("simulate: no worker has taken the lock for 100 ms, after %d turns", total)
	}
	n := max(total-w.Warm, 1)
	per := func(x int64) float64 { return float64(x) / float64(n) }
	r := Result{
		Turns: n, Elapsed: float64(end-begun) / 1000, PerTurn: per(end-begun) / 1000,
		Misses: per(s.counts.Misses - base.Misses), Remote: per(s.counts.Remote - base.Remote),
		Invalidated: per(s.counts.Invalidated - base.Invalidated),
		Longest:     float64(longest) / 1000, SameWorker: per(same), Jain: jain(turns), Steps: s.steps,
		Cut: total < w.Warm+w.Turns,
	}
	if handed > 0 {
		r.HandOver = float64(handOver) / float64(handed) / 1000
	}
	if moved > 0 {
		r.SameSocket = float64(near) / float64(moved)
	}
	return r, wrong
}

// place returns the hardware thread of worker i.
func place(m *Machine, w Workload, i int) int {
	if !w.Spread {
		return i
	}
	return i%m.Sockets*(m.Threads()/m.Sockets) + i/m.Sockets
}

func jain(xs []int64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(xs)) * squares)
}
