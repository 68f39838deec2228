//go:build systematic && simulate

package simulate

import (
	"fmt"
	"slices"
)

// A Contention is the outcome for contenders for one line.
type Contention struct {
	Wins   []int // changes of the word by each, in the order of the threads
	Rounds int   // requests that the directory granted, that is rounds of its arbiter
}

// Contend makes hardware threads add to one word as fast as possible, additions times: the
// queue at a line without a lock.
func Contend(m *Machine, threads []int, additions int, seed uint64) (Contention, error) {
	s := newSim(m, seed)
	var ball cell
	r := Contention{Wins: make([]int, len(threads))}
	for i, thread := range threads {
		if thread < 0 || thread >= m.Threads() || slices.Index(threads, thread) != i {
			return r, fmt.Errorf("simulate: contenders on threads %v: want different ones of 0 to %d", threads, m.Threads()-1)
		}
		s.newCore(i, thread, func(c *core) {
			for !s.halted {
				s.halted = ball.v.Add(1) == uint64(additions)
				r.Wins[i]++
			}
		})
	}
	s.simulate()
	for _, l := range s.order {
		r.Rounds += int(s.counts.Misses) - len(l.queue)
		if l.serving != nil {
			r.Rounds-- // it has not arrived
		}
	}
	return r, s.failure
}
