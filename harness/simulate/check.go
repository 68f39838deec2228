//go:build systematic && simulate

package simulate

import "fmt"

// A checker checks the protocol after every event: a line has one owner or copies, and a cache
// reads the last value. It counts versions, which a copy that escaped invalidation lacks.
type checker struct {
	s        *sim
	versions []int64         // of lines, by id
	copies   []map[int]int64 // by id, each cache's version
}

func (k *checker) of(l *line) int {
	for len(k.versions) <= l.id {
		k.versions = append(k.versions, 0)
		k.copies = append(k.copies, make(map[int]int64))
	}
	return l.id
}

func (k *checker) filled(l *line, cache int) {
	i := k.of(l)
	k.copies[i][cache] = k.versions[i]
}

func (k *checker) written(l *line, c *core) {
	i := k.of(l)
	if l.owner != c.cache {
		k.s.fail(fmt.Errorf("simulate: core %d writes line %d, %s", c.id, l.id, l.state()))
	}
	k.versions[i]++
	k.copies[i][c.cache] = k.versions[i]
}

func (k *checker) read(l *line, c *core) {
	if i := k.of(l); k.copies[i][c.cache] != k.versions[i] {
		k.s.fail(fmt.Errorf("simulate: core %d reads version %d of line %d, which has %d", c.id, k.copies[i][c.cache], l.id, k.versions[i]))
	}
}

func (k *checker) all() {
	for _, l := range k.s.order {
		if l.owner != none && (l.copies.count() != 1 || !l.copies.has(l.owner)) {
			k.s.fail(fmt.Errorf("simulate: line %d has an owner, cache %d, beside %d copies", l.id, l.owner, l.copies.count()))
		}
		if len(l.queue) > 0 && !l.busy {
			k.s.fail(fmt.Errorf("simulate: line %d serves none of %d requests", l.id, len(l.queue)))
		}
	}
}
