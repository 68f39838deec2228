package hardware

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/result"
)

const perMillionUnit = "per million"

func total(tallies []tally) (sum tally) {
	for _, t := range tallies {
		sum.updates += t.updates
		sum.lost += t.lost
		sum.entered += t.entered
		sum.violated += t.violated
		sum.forgot += t.forgot
		sum.stalls += t.stalls
	}
	return sum
}

func rates(tallies []tally, share func(tally) (part, whole uint64)) result.Cell {
	var rs []float64
	for _, t := range tallies {
		rs = append(rs, perMillion(share(t)))
	}
	return summarize(rs)
}

func lostOf(t tally) (part, whole uint64)     { return t.lost, t.updates }
func violatedOf(t tally) (part, whole uint64) { return t.violated, t.entered }
func forgotOf(t tally) (part, whole uint64)   { return t.forgot, t.entered }
func stallsOf(t tally) (part, whole uint64)   { return t.stalls, t.entered }

func (c *casCell) failed() bool {
	t := total(c.tallies)
	return t.lost > 0 || t.broken()
}

func bodyTables(cells []*casCell) []result.Table {
	rate := func(name string) result.Column { return result.Column{Name: name, Unit: perMillionUnit, Plot: true} }
	counter := result.Table{Caption: "One counter, raised by all threads: updates that were lost", Label: "compare-and-swap",
		Columns: []result.Column{{Name: "updates"}, rate("lost")}, Chart: result.Bars, Log: true}
	spin := result.Table{Caption: "A spin lock built on each compare-and-swap: what went wrong", Label: "compare-and-swap",
		Columns: []result.Column{{Name: "entries"}, rate("two inside"), rate("lost increments"), rate("lost unlocks")}, Chart: result.Bars, Log: true}
	for _, c := range cells {
		sum := total(c.tallies)
		label := c.body.name + ", " + c.place.name
		counter.Rows = append(counter.Rows, result.Row{Label: label, Cells: []result.Cell{exact(float64(sum.updates)), rates(c.tallies, lostOf)}})
		spin.Rows = append(spin.Rows, result.Row{Label: label, Cells: []result.Cell{exact(float64(sum.entered)),
			rates(c.tallies, violatedOf), rates(c.tallies, forgotOf), rates(c.tallies, stallsOf)}})
	}
	return []result.Table{counter, spin}
}

// lockTables returns a table for each placement.
func lockTables(cells []*lockCell) (tables []result.Table) {
	for _, c := range cells {
		caption := "The spin locks of the lab, " + c.place.name
		i := slices.IndexFunc(tables, func(t result.Table) bool { return t.Caption == caption })
		if i < 0 {
			i = len(tables)
			tables = append(tables, result.Table{Caption: caption, Label: "lock", Chart: result.Bars, Log: true,
				Columns: []result.Column{{Name: "entries"}, {Name: "lost increments", Unit: perMillionUnit}, {Name: "two inside", Unit: perMillionUnit},
					{Name: "time of one entry, with a section of about 100 ns", Unit: "ns", Plot: true}}})
		}
		tables[i].Rows = append(tables[i].Rows, result.Row{Label: c.lock.Name, Cells: []result.Cell{
			exact(float64(total(c.tallies).entered)), rates(c.tallies, forgotOf), rates(c.tallies, violatedOf), summarize(c.ns)}})
	}
	return tables
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
	s = shortAnswer(cells) + " " + strings.ToUpper(s[:1]) + s[1:]
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
	sum := total(c.tallies)
	lost := rates(c.tallies, lostOf).Median
	if lost == 0 {
		lost = perMillion(lostOf(sum))
	}
	switch {
	case !c.failed():
		return fmt.Sprintf("%s lost none of %s updates and kept its lock exclusive", c.body.name, number(float64(sum.updates)))
	case !sum.broken():
		return fmt.Sprintf("%s lost %s updates per million, and its lock was not seen to fail", c.body.name, number(lost))
	}
	return fmt.Sprintf("%s lost %s updates per million and its lock failed", c.body.name, number(lost))
}

func locksSentence(cells []*lockCell) string {
	var failed []string
	entered := uint64(0)
	for _, c := range cells {
		t := total(c.tallies)
		entered += t.entered
		if t.broken() {
			failed = append(failed, fmt.Sprintf("%s (%s) lost %d increments and let two in %d times in %s entries",
				c.lock.Name, c.place.name, t.forgot, t.violated, number(float64(t.entered))))
		}
	}
	if len(failed) > 0 {
		return "LOCKS OF THE LAB FAILED: " + strings.Join(failed, "; ") + "."
	}
	return fmt.Sprintf("No lock of the lab lost an increment or let two in, in %s entries.", number(float64(entered)))
}
