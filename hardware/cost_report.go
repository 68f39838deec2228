package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"locklab/harness/result"
)

func (c *costCell) byAll() []float64 { return c.ns[len(c.ns)-1] }

func (c *costCell) timesAlone() result.Cell { return summarize(ratios(c.byAll(), c.ns[0])) }

func notHere() result.Cell { return result.Cell{Text: "n/a"} }

func countTable(cells []*costCell) result.Table {
	t := result.Table{Caption: "Time of one operation on one word, by how many CPUs use it at once", Label: "CPUs", Chart: result.Lines, Log: true}
	for _, c := range cells {
		if c.op.private {
			continue
		}
		t.Columns = append(t.Columns, result.Column{Name: c.op.name, Unit: "ns", Plot: true})
		for i, count := range c.counts {
			if len(t.Rows) == i {
				t.Rows = append(t.Rows, result.Row{Label: strconv.Itoa(count), X: float64(count)})
			}
			t.Rows[i].Cells = append(t.Rows[i].Cells, summarize(c.ns[i]))
		}
	}
	return t
}

func costTable(cells []*costCell, cpus int) result.Table {
	t := result.Table{Caption: "Time of one operation, alone and with all CPUs on one line", Label: "operation", Chart: result.Bars, Log: true,
		Columns: []result.Column{{Name: "alone", Unit: "ns", Plot: true}, {Name: fmt.Sprintf("all %d CPUs", cpus), Unit: "ns", Plot: true}, {Name: "times alone"}}}
	for _, c := range cells {
		row := []result.Cell{summarize(c.ns[0]), notHere(), notHere()}
		if !c.op.private {
			row[1], row[2] = summarize(c.byAll()), c.timesAlone()
		}
		t.Rows = append(t.Rows, result.Row{Label: c.op.name, Cells: row})
	}
	return t
}

func costAnswer(cells []*costCell) string {
	shared := slices.DeleteFunc(slices.Clone(cells), func(c *costCell) bool { return c.op.private })
	byRatio := func(c, d *costCell) int { return cmp.Compare(c.timesAlone().Median, d.timesAlone().Median) }
	least, most := slices.MinFunc(shared, byRatio), slices.MaxFunc(shared, byRatio)
	return fmt.Sprintf("With all CPUs on one line an operation takes between %s times (%s) and %s times (%s) what it takes alone.",
		number(least.timesAlone().Median), least.op.name, number(most.timesAlone().Median), most.op.name)
}
