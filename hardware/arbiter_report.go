package hardware

import (
	"fmt"
	"strconv"

	"locklab/harness/result"
)

// arbiterFinding shows the policies at one size, over all sizes, and the circuit.
func arbiterFinding(bySize [][]*arbiterCell, byProbability []*arbiterCell, seed uint64) *result.Finding {
	var eight []*arbiterCell
	var all game
	for _, row := range bySize {
		if row[0].n == arbiterSize {
			eight = row
		}
		for _, c := range row {
			all.rounds += c.total.rounds
			all.double += c.total.double
		}
	}
	return &result.Finding{
		Answer: arbiterAnswer(eight, all),
		Tables: []result.Table{gameTable(fmt.Sprintf("%d contenders", arbiterSize), "policy", eight), roundsTable(bySize), jainTable(bySize), probabilityTable(byProbability)},
		Notes: []string{
			fmt.Sprintf("a simulation: it says nothing of this machine, and seed %d gives the same figures again", seed),
			"the formula is 1/(N p (1-p)^(N-1)) rounds for N contenders that pull with probability p; at p = 1/N it rises to e = 2.72 with N",
			"the Jain index is 1 if all win as often, and 1/N if one has all",
		},
	}
}

const unitRounds = "rounds"

func (c *arbiterCell) jainCell() result.Cell {
	if c.total.grants == 0 {
		return result.Cell{Text: "-"}
	}
	return summarize(c.jain)
}

func (c *arbiterCell) formula() result.Cell {
	if c.predict == nil {
		return result.Cell{Text: "-"}
	}
	return summarize([]float64{c.predict(c.n)})
}

// gameTable has a row for each of cells, which have arbiterSize contenders.
func gameTable(caption, label string, cells []*arbiterCell) result.Table {
	t := result.Table{Caption: caption, Label: label,
		Columns: []result.Column{{Name: "for a grant", Unit: unitRounds}, {Name: "by the formula", Unit: unitRounds}, {Name: "Jain index"}}}
	for _, c := range cells {
		t.Rows = append(t.Rows, result.Row{Label: c.name, Cells: []result.Cell{summarize(c.rounds), c.formula(), c.jainCell()}})
	}
	return t
}

func roundsTable(bySize [][]*arbiterCell) result.Table {
	t := overSizes(bySize, "Rounds for a grant, by the number of contenders", unitRounds, func(c *arbiterCell) result.Cell { return summarize(c.rounds) })
	t.Log = true
	t.Columns = append(t.Columns, result.Column{Name: "formula at p = 1/N", Unit: unitRounds, Plot: true})
	for i, row := range bySize {
		n := row[0].n
		t.Rows[i].Cells = append(t.Rows[i].Cells, exact(expectedRounds(n, 1/float64(n))))
	}
	return t
}

func jainTable(bySize [][]*arbiterCell) result.Table {
	return overSizes(bySize, "Fairness (Jain index), by the number of contenders", "", (*arbiterCell).jainCell)
}

func overSizes(bySize [][]*arbiterCell, caption, unit string, cell func(*arbiterCell) result.Cell) result.Table {
	t := result.Table{Caption: caption, Label: "contenders", Chart: result.Lines}
	for _, c := range bySize[0] {
		t.Columns = append(t.Columns, result.Column{Name: c.name, Unit: unit, Plot: true})
	}
	for _, row := range bySize {
		r := result.Row{Label: strconv.Itoa(row[0].n), X: float64(row[0].n)}
		for _, c := range row {
			r.Cells = append(r.Cells, cell(c))
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func probabilityTable(cells []*arbiterCell) result.Table {
	t := gameTable(fmt.Sprintf("Rounds for a grant, %d contenders that pull with a probability", arbiterSize), "probability of a pull", cells)
	t.Chart, t.Log, t.Columns[0].Plot, t.Columns[1].Plot = result.Lines, true, true, true
	for i, p := range probabilities {
		t.Rows[i].X = p
	}
	return t
}

func arbiterAnswer(cells []*arbiterCell, all game) string {
	text := ""
	for _, c := range cells {
		if text != "" {
			text += "; "
		}
		text += c.name + ": "
		if c.total.grants == 0 {
			text += fmt.Sprintf("no grant in %s rounds", number(float64(c.total.rounds)))
			continue
		}
		text += fmt.Sprintf("rounds for a grant %s, Jain index %s",
			number(summarize(c.rounds).Median), number(summarize(c.jain).Median))
	}
	return fmt.Sprintf("Two won at once in %d of %s rounds with 2 to %d contenders. With %d contenders, %s.",
		all.double, number(float64(all.rounds)), arbiterSizes[len(arbiterSizes)-1], arbiterSize, text)
}
