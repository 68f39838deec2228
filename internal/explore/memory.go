//go:build systematic

package explore

import (
	"math/bits"

	"locklab/atomics"
)

type cell struct {
	word    atomics.Word
	version uint64 // which write the value is of; 0 is what the word began with
}

// memory is all words, with total store order: a store buffer per worker, oldest first.
type memory struct {
	cells []cell // few: a search is faster than a map
	sum   uint64 // of the versions
}

func (m *memory) at(w atomics.Word) int {
	for i := range m.cells {
		if m.cells[i].word == w {
			return i
		}
	}
	m.cells = append(m.cells, cell{word: w})
	return len(m.cells) - 1
}

// write makes v the value of cell c, and reports whether it changed: else no worker sees it.
func (m *memory) write(c int, v, event uint64) bool {
	if m.cells[c].word.Get() == v {
		return false
	}
	m.cells[c].word.Set(v)
	m.sum += scramble(event) - scramble(m.cells[c].version)
	m.cells[c].version = event
	return true
}

type entry struct {
	cell  int
	value uint64
	event uint64
}

// scramble spreads the bits of x (the finalizer of MurmurHash3, with 0 at 0).
func scramble(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// mix returns a hash of the pair a, b.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return scramble(hi ^ lo ^ bits.RotateLeft64(a, 23))
}
