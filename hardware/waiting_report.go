package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness/result"
)

func (b *waitBench) finding() *result.Finding {
	return &result.Finding{Answer: b.answer(), Tables: b.tables(), Notes: b.notes}
}

func (b *waitBench) tables() []result.Table {
	times := result.Table{Caption: "Handing a word from one CPU to another, by what the waiter does between two loads", Label: "wait by", Chart: result.Bars,
		Columns: []result.Column{{Name: "handover", Unit: "ns", Plot: true}, {Name: "one wait without a store", Unit: "ns"}}}
	cost := result.Table{Caption: "A computation beside a waiter on the other thread of its core, as a multiple of its time alone", Label: "wait by", Chart: result.Bars,
		Columns: []result.Column{{Name: "time", Unit: "times alone", Plot: true}}}
	for _, c := range b.cells {
		times.Rows = append(times.Rows, result.Row{Label: c.name, Cells: []result.Cell{summarize(c.handOver), summarize(c.vain)}})
		cost.Rows = append(cost.Rows, result.Row{Label: c.name, Cells: []result.Cell{summarize(c.neighbour)}})
	}
	if b.siblings == nil {
		return []result.Table{times}
	}
	return []result.Table{times, cost}
}

func (b *waitBench) answer() string {
	least := func(of func(*waitCell) []float64) *waitCell {
		return slices.MinFunc(b.cells, func(c, d *waitCell) int { return cmp.Compare(summarize(of(c)).Median, summarize(of(d)).Median) })
	}
	hint := b.cells[1]
	handOver := func(c *waitCell) []float64 { return c.handOver }
	fastest := least(handOver)
	text := fmt.Sprintf("A handover is fastest by %s, %s ns", fastest.name, number(summarize(fastest.handOver).Median))
	if fastest != hint {
		text += fmt.Sprintf("; by %s, as locks wait, it takes %s times that", hint.name, number(summarize(ratios(hint.handOver, fastest.handOver)).Median))
	}
	if b.siblings == nil {
		text += ". What it costs the other thread of the core could not be measured"
	} else {
		kindest := least(func(c *waitCell) []float64 { return c.neighbour })
		text += fmt.Sprintf(". The other thread of the core computes %s times as long beside %s, the least, and %s times beside %s",
			number(summarize(kindest.neighbour).Median), kindest.name, number(summarize(hint.neighbour).Median), hint.name)
	}
	if len(b.absent) > 0 {
		text += ". Not here: " + strings.Join(b.absent, "; ")
	}
	return text + "."
}
