//go:build systematic && simulate

package simulate

import (
	"fmt"

	"locklab/harness"
)

// RunChecked is Run with the protocol checked after every event.
func RunChecked(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, newProtocol)
}

// OneWay returns the result on m of a ping-pong by compare-and-swap between two threads,
// per hop in ns. Machines are described by this benchmark.
func OneWay(m *Machine, a, b int, seed uint64) float64 {
	const hops = 400
	s := newSim(m, seed)
	var ball cell
	var begin, end int64
	for i, thread := range []int{a, b} {
		s.newCore(i, thread, func(c *core) {
			for k := range hops {
				for !ball.v.CompareAndSwap(uint64(2*k+i), uint64(2*k+i+1)) {
				}
				if k == hops/4 {
					begin = c.clock
				}
				end = c.clock
			}
		})
	}
	s.simulate()
	return float64(end-begin) / 1000 / (2 * (hops - hops/4 - 1))
}

// A protocol is a checker: a line has one owner or copies, and a cache
// reads the last value. It counts versions, which a copy that escaped invalidation lacks.
type protocol struct {
	s        *sim
	versions []int64         // of lines, by id
	copies   []map[int]int64 // by id, each cache's version
}

func (k *protocol) of(l *line) int {
	for len(k.versions) <= l.id {
		k.versions = append(k.versions, 0)
		k.copies = append(k.copies, make(map[int]int64))
	}
	return l.id
}

func (k *protocol) filled(l *line, cache int) {
	i := k.of(l)
	k.copies[i][cache] = k.versions[i]
}

func (k *protocol) written(l *line, c *core) {
	i := k.of(l)
	if l.owner != c.cache {
		k.s.fail(fmt.Errorf("simulate: core %d writes line %d, %s", c.id, l.id, l.state()))
	}
	k.versions[i]++
	k.copies[i][c.cache] = k.versions[i]
}

func (k *protocol) read(l *line, c *core) {
	if i := k.of(l); k.copies[i][c.cache] != k.versions[i] {
		k.s.fail(fmt.Errorf("simulate: core %d reads version %d of line %d, which has %d", c.id, k.copies[i][c.cache], l.id, k.versions[i]))
	}
}

func (k *protocol) all() {
	for _, l := range k.s.order {
		if l.owner != none && (l.copies.count() != 1 || !l.copies.has(l.owner)) {
			k.s.fail(fmt.Errorf("simulate: line %d has an owner, cache %d, beside %d copies", l.id, l.owner, l.copies.count()))
		}
		if len(l.queue) > 0 && !l.busy {
			k.s.fail(fmt.Errorf("simulate: line %d serves none of %d requests", l.id, len(l.queue)))
		}
	}
}

func newProtocol(s *sim) checker { return &protocol{s: s} }

func (l *line) state() string {
	switch n := l.copies.count(); {
	case l.owner != none:
		return fmt.Sprintf("M or E at cache %d", l.owner)
	case n > 0:
		return fmt.Sprintf("S in %d caches", n)
	case l.busy:
		return "on its way"
	}
	return "I (in memory only)"
}
