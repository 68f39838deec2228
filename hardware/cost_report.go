package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/machine"
)

func (c *costCell) all(series [][]float64) []float64 {
	if c.op.private {
		return nil
	}
	return series[len(series)-1]
}

func notHere() harness.Cell { return harness.Cell{Text: "n/a"} }

func crowdTable(cells []*costCell) harness.Table {
	t := harness.Table{Caption: "Time of one operation on one word, by how many CPUs use it at once", Label: "CPUs", Chart: harness.Lines, Log: true}
	for _, c := range cells {
		if c.op.private {
			continue
		}
		t.Columns = append(t.Columns, harness.Column{Name: c.op.name, Unit: "ns", Plot: true})
		for i, crowd := range c.crowds {
			if len(t.Rows) == i {
				t.Rows = append(t.Rows, harness.Row{Label: strconv.Itoa(crowd), X: float64(crowd)})
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, summarize(c.ns[i]))
		}
	}
	return t
}

func costTable(cells []*costCell, cpus int) harness.Table {
	t := harness.Table{Caption: "Time of one operation, alone and with all CPUs on one line", Label: "operation", Chart: harness.Bars, Log: true,
		Columns: []harness.Column{{Name: "alone", Unit: "ns", Plot: true}, {Name: fmt.Sprintf("all %d CPUs", cpus), Unit: "ns", Plot: true}, {Name: "times alone"}}}
	for _, c := range cells {
		row := []harness.Cell{summarize(c.ns[0]), notHere(), notHere()}
		if !c.op.private {
			row[1], row[2] = summarize(c.all(c.ns)), summarize(ratios(c.all(c.ns), c.ns[0]))
		}
		t.Rows = append(t.Rows, harness.Row{Label: c.op.name, Cells: row})
	}
	return t
}

func cycleTable(cells []*costCell, ticks tickScale) harness.Table {
	t := harness.Table{Caption: "The same in cycles", Label: "operation", Columns: []harness.Column{
		{Name: "clock, alone", Unit: "TSC cycles"}, {Name: "clock, all CPUs", Unit: "TSC cycles"},
		{Name: "core, alone", Unit: "core cycles"}, {Name: "core, all CPUs", Unit: "core cycles"}}}
	for _, c := range cells {
		t.Rows = append(t.Rows, harness.Row{Label: c.op.name,
			Cells: []harness.Cell{ticks.cell(c.ns[0]), ticks.cell(c.all(c.ns)), counts(c.cycles[0]), counts(c.all(c.cycles))}})
	}
	return t
}

func counts(samples []float64) harness.Cell {
	if len(samples) == 0 {
		return notHere()
	}
	return summarize(samples)
}

// A tickScale converts ns into ticks of a clock that counts cycles.
type tickScale struct {
	clock string
	hz    float64 // 0 if the clock does not count cycles
}

func newTickScale() tickScale {
	s := tickScale{clock: atomics.ClockName()}
	if s.clock == "RDTSC" {
		s.hz = machine.Calibrate().Hz()
	}
	return s
}

func (s tickScale) cell(ns []float64) harness.Cell {
	if s.hz == 0 {
		return notHere()
	}
	var ticks []float64
	for _, x := range ns {
		ticks = append(ticks, x*s.hz/1e9)
	}
	return counts(ticks)
}

func (s tickScale) note() string {
	if s.hz == 0 {
		return fmt.Sprintf("TSC cycles n/a: the clock of this machine (%s) is a timer, which does not count cycles", s.clock)
	}
	return fmt.Sprintf("a TSC cycle is a tick of the time-stamp counter, %.0f MHz here at whatever speed the cores run: it is a measure of time, not a cycle of a core", s.hz/1e6)
}

func costAnswer(cells []*costCell) string {
	shared := slices.DeleteFunc(slices.Clone(cells), func(c *costCell) bool { return c.op.private })
	ratio := func(c *costCell) float64 { return summarize(ratios(c.all(c.ns), c.ns[0])).Median }
	byRatio := func(c, d *costCell) int { return cmp.Compare(ratio(c), ratio(d)) }
	least, most := slices.MinFunc(shared, byRatio), slices.MaxFunc(shared, byRatio)
	return fmt.Sprintf("With all CPUs on one line an operation takes between %s times (%s) and %s times (%s) what it takes alone.",
		number(ratio(least)), least.op.name, number(ratio(most)), most.op.name)
}
