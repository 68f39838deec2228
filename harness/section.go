package harness

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Section is the data that a worker of a local lock changes in the critical section, in
// addition to Workload.Hold: it reads the data before that work and writes it after. Only
// the lock protects the data, whose consistency is checked at the end. [Section.Set] gives its
// canonical form.
type Section string

// The sections without a number.
const (
	// SectionWork touches no data.
	SectionWork Section = ""

	// SectionMap adds one to a value of a Go map with 1024 keys, the key drawn
	// uniformly at random.
	SectionMap Section = "map"

	// SectionLRU adds one to a value in a cache of the 512 most recently used of 1024 uniform
	// keys; half of the accesses replace one (github.com/hashicorp/golang-lru/v2/simplelru).
	SectionLRU Section = "lru"

	// SectionLog appends a numbered entry of 32 bytes to a buffer of 64 KiB, which
	// restarts when it is full.
	SectionLog Section = "log"
)

const (
	linesPrefix = "lines:"
	maxLines    = 1024
)

// Lines returns how many equal counters, each in its own cache line, s adds one to: n for
// "lines:n", else 0.
func (s Section) Lines() int {
	text, ok := strings.CutPrefix(string(s), linesPrefix)
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 || n > maxLines {
		return 0
	}
	return n
}

// String returns the form that Set reads; "work" for the zero value.
func (s Section) String() string { return cmp.Or(string(s), "work") }

// Set reads "work", "lines:N" with N from 1 to 1024, "map", "lru" or "log".
func (s *Section) Set(text string) error {
	for _, plain := range []Section{SectionWork, SectionMap, SectionLRU, SectionLog} {
		if text == plain.String() {
			*s = plain
			return nil
		}
	}
	if n := Section(text).Lines(); n > 0 {
		*s = Section(linesPrefix + strconv.Itoa(n))
		return nil
	}
	return fmt.Errorf("%w: %q is not a section: want work, lines:N with N from 1 to %d, map, lru or log", ErrUsage, text, maxLines)
}

// Size returns the approximate memory of one lock's data, in bytes.
func (s Section) Size() int64 {
	const line = 256 // the longest in use
	switch {
	case s == SectionMap, s == SectionLog:
		return 64 << 10
	case s == SectionLRU:
		return 128 << 10
	}
	return line * int64(s.Lines())
}

const maxData = 512 << 20

func (w Workload) validateSection(refuse func(mistake bool, format string, args ...any)) {
	var s Section
	refuse(s.Set(w.Section.String()) != nil || s != w.Section, "section is %q: want a value of Section.Set", string(w.Section))
	size := int64(max(1, w.Locks)) * w.Section.Size()
	refuse(size > maxData, "section %s behind %d locks takes %d MiB: want %d at most, so fewer locks", w.Section, w.Locks, size>>20, maxData>>20)
}
