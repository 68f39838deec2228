package hardware

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
)

const perMillionUnit = "per million"

func (c *casCell) totals() (counter counterTally, lock lockTally) {
	for _, t := range c.counters {
		counter.updates += t.updates
		counter.lost += t.lost
	}
	return counter, total(c.locks)
}

func total(tallies []lockTally) (sum lockTally) {
	for _, t := range tallies {
		sum.entered += t.entered
		sum.violated += t.violated
		sum.forgot += t.forgot
		sum.stalls += t.stalls
	}
	return sum
}

func rates[T any](tallies []T, share func(T) (part, whole uint64)) harness.Cell {
	var rs []float64
	for _, t := range tallies {
		rs = append(rs, perMillion(share(t)))
	}
	return summarize(rs)
}

func violatedOf(t lockTally) (part, whole uint64) { return t.violated, t.entered }
func forgotOf(t lockTally) (part, whole uint64)   { return t.forgot, t.entered }
func stallsOf(t lockTally) (part, whole uint64)   { return t.stalls, t.entered }

func (c *casCell) lost() harness.Cell {
	return rates(c.counters, func(t counterTally) (part, whole uint64) { return t.lost, t.updates })
}

func (c *casCell) failed() bool {
	counter, lock := c.totals()
	return counter.lost > 0 || lock.broken()
}

func namesOf(cells []*lockCell, name func(*lockCell) string) (names []string) {
	for _, c := range cells {
		if n := name(c); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func (c *lockCell) lockName() string  { return c.lock.Name }
func (c *lockCell) placeName() string { return c.place.name }

func bodyTables(cells []*casCell) []harness.Table {
	rate := func(name string) harness.Column { return harness.Column{Name: name, Unit: perMillionUnit, Plot: true} }
	counter := harness.Table{Caption: "One counter, raised by all threads: updates that were lost", Label: "compare-and-swap",
		Columns: []harness.Column{{Name: "updates"}, rate("lost")}, Chart: harness.Bars, Log: true}
	spin := harness.Table{Caption: "A spin lock built on each compare-and-swap: what went wrong", Label: "compare-and-swap",
		Columns: []harness.Column{{Name: "entries"}, rate("two inside"), rate("lost increments"), rate("lost unlocks")}, Chart: harness.Bars, Log: true}
	for _, c := range cells {
		updates, entries := c.totals()
		label := c.body.name + ", " + c.place.name
		counter.Rows = append(counter.Rows, harness.Row{Label: label, Cells: []harness.Cell{exact(float64(updates.updates)), c.lost()}})
		spin.Rows = append(spin.Rows, harness.Row{Label: label, Cells: []harness.Cell{exact(float64(entries.entered)),
			rates(c.locks, violatedOf), rates(c.locks, forgotOf), rates(c.locks, stallsOf)}})
	}
	return []harness.Table{counter, spin}
}

func lockTables(cells []*lockCell) []harness.Table {
	if len(cells) == 0 {
		return nil
	}
	safety := harness.Table{Caption: "The spin locks of the lab: what went wrong", Label: "lock"}
	speed := harness.Table{Caption: "The spin locks of the lab: time of one entry, with a section of about 100 ns", Label: "lock", Chart: harness.Bars, Log: true}
	places, locks := namesOf(cells, (*lockCell).placeName), namesOf(cells, (*lockCell).lockName)
	at := make(map[[2]string]*lockCell)
	for _, c := range cells {
		at[[2]string{c.lock.Name, c.place.name}] = c
	}
	for _, p := range places {
		safety.Columns = append(safety.Columns, harness.Column{Name: "entries, " + p},
			harness.Column{Name: "lost increments, " + p, Unit: perMillionUnit}, harness.Column{Name: "two inside, " + p, Unit: perMillionUnit})
		speed.Columns = append(speed.Columns, harness.Column{Name: p, Unit: "ns", Plot: true})
	}
	for _, l := range locks {
		var seen, took []harness.Cell
		for _, p := range places {
			c := at[[2]string{l, p}]
			if c == nil {
				dash := harness.Cell{Text: "-"}
				seen, took = append(seen, dash, dash, dash), append(took, dash)
				continue
			}
			seen = append(seen, exact(float64(total(c.tallies).entered)), rates(c.tallies, forgotOf), rates(c.tallies, violatedOf))
			took = append(took, summarize(c.ns))
		}
		safety.Rows = append(safety.Rows, harness.Row{Label: l, Cells: seen})
		speed.Rows = append(speed.Rows, harness.Row{Label: l, Cells: took})
	}
	return []harness.Table{safety, speed}
}

func lostAnswer(cells []*casCell, locks []*lockCell) string {
	var parts []string
	for i := len(casBodies); i <= len(cells); i += len(casBodies) {
		row := cells[len(cells)-i:][:len(casBodies)]
		var said []string
		for _, c := range row {
			said = append(said, c.sentence())
		}
		parts = append(parts, "on "+row[0].place.name+" "+strings.Join(said, ", "))
	}
	s := strings.Join(parts, "; ") + "."
	s = shortAnswer(cells) + " " + strings.ToUpper(s[:1]) + s[1:] + " " + claim(cells)
	if len(locks) > 0 {
		s += " " + locksSentence(locks)
	}
	return s
}

func shortAnswer(cells []*casCell) string {
	var bare, atomic bool // whether a body failed
	for _, c := range cells {
		switch {
		case c.place.shared || !c.failed():
		case c.body.atomic:
			atomic = true
		default:
			bare = true
		}
	}
	switch {
	case atomic:
		return "Yes, even with the atomic instruction: this machine or this program is broken."
	case bare:
		return "Yes, both get it, unless the compare-and-swap is atomic."
	}
	return "It was not seen to happen here."
}

func (c *casCell) sentence() string {
	counter, lock := c.totals()
	updates, lost := number(float64(counter.updates)), number(c.lost().Median)
	if c.lost().Median == 0 {
		lost = number(perMillion(counter.lost, counter.updates))
	}
	switch {
	case !c.failed():
		return fmt.Sprintf("%s lost none of %s updates and kept its lock exclusive", c.body.name, updates)
	case !lock.broken():
		return fmt.Sprintf("%s lost %s updates per million, and its lock was not seen to fail", c.body.name, lost)
	}
	return fmt.Sprintf("%s lost %s updates per million and its lock failed", c.body.name, lost)
}

// claim reports whether the cells support the claim: on one CPU it is enough that an
// interrupt cannot split the update, and on several it must be atomic.
func claim(cells []*casCell) string {
	// Whether each kind ran and failed: several instructions and one on one CPU, one and
	// an atomic one on several.
	type body struct{ ran, failed bool }
	var loose, single, bare, atomic body
	for _, c := range cells {
		kind := &loose
		switch {
		case c.place.shared && c.body.single:
			kind = &single
		case c.place.shared:
		case c.body.atomic:
			kind = &atomic
		case c.body.single:
			kind = &bare
		default:
			continue
		}
		kind.ran, kind.failed = true, kind.failed || c.failed()
	}
	const says = "that on one CPU it is enough that one instruction does it, and that on several it must be locked too"
	switch {
	case single.failed || atomic.failed:
		return "The claim " + says + ", does not hold here."
	case !single.ran || !atomic.ran:
		return "The claim " + says + ", is open: one of the two places is missing."
	case loose.ran && !loose.failed:
		return "The claim " + says + ", was not contradicted, but several instructions lost nothing on one CPU either: the threads may hardly have met."
	case bare.failed:
		return "So the claim holds " + says + "."
	case bare.ran:
		return "The claim " + says + ", was not contradicted, but the one that is not locked was not seen to fail."
	}
	return "The claim " + says + ", was not contradicted; this build has no single instruction without a lock, to see it fail."
}

func locksSentence(cells []*lockCell) string {
	var failed []string
	places, locks := namesOf(cells, (*lockCell).placeName), namesOf(cells, (*lockCell).lockName)
	entries := make(map[string]uint64)
	for _, c := range cells {
		t := total(c.tallies)
		entries[c.place.name] += t.entered
		if t.broken() {
			failed = append(failed, fmt.Sprintf("%s (%s) lost %d increments and let two in %d times in %s entries",
				c.lock.Name, c.place.name, t.forgot, t.violated, number(float64(t.entered))))
		}
	}
	if len(failed) > 0 {
		return "LOCKS OF THE LAB FAILED: " + strings.Join(failed, "; ") + "."
	}
	for i, p := range places {
		places[i] = fmt.Sprintf("%s entries (%s)", number(float64(entries[p])), p)
	}
	return fmt.Sprintf("Of the %d locks of the lab none lost an increment or let two in, in %s.", len(locks), strings.Join(places, ", "))
}
