package page

import (
	_ "embed"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"

	"locklab/harness/result"
	"locklab/internal/synthetic"
)

// laboratoryFindings are synthetic: bars, lines, fields and words with gaps, long names, and zeros.
// None of their figures is published.
//
//go:embed testdata/laboratory.json
var laboratoryFindings []byte

// laboratory returns a run of the synthetic findings cost, sharing, core-to-core and listing.
func laboratory() *result.Run {
	run := synthetic.Run(1, 0, 2, nil)
	if err := json.Unmarshal(laboratoryFindings, &run.Findings); err != nil {
		panic(err)
	}
	return run
}

func cellOf(median, spread float64) result.Cell {
	return result.Cell{Median: median, Lo: median * (1 - spread), Hi: median * (1 + spread), N: 5}
}

func columns(unit string, names ...string) (cs []result.Column) {
	for _, n := range names {
		cs = append(cs, result.Column{Name: n, Unit: unit, Plot: true})
	}
	return cs
}

// field returns a table of the time between any two of n CPUs in two sockets, with caches
// of eight CPUs each. hole is the share of missing pairs.
func field(n int, hole float64) result.Table {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	t := result.Table{Caption: "One way from one CPU to another", Label: "CPU", Chart: result.Heat, Log: true}
	for i := range n {
		t.Columns = append(t.Columns, result.Column{Name: strconv.Itoa(i), Unit: "ns", Plot: true})
		row := result.Row{Label: strconv.Itoa(i)}
		for k := range n {
			ns := 210.0
			switch {
			case i/8 == k/8:
				ns = 26
			case i/(n/2) == k/(n/2):
				ns = 104
			}
			c := cellOf(ns*math.Exp(0.04*rng.NormFloat64()), 0.03)
			if i == k || rng.Float64() < hole {
				c = result.Cell{}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
