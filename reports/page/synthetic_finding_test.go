package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// Synthetic findings for tests of the drawing. None of their figures is published.

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

func barTables() []result.Table {
	ops := result.Table{Caption: "Time of one operation", Label: "operation", Chart: result.Bars, Log: true,
		Columns: append(columns("ns", "alone", "all CPUs at one word"), result.Column{Name: "times alone"})}
	for i, name := range []string{"load", "store", "compare-and-swap that hits", "compare-and-swap that misses, of a word that another processor has just written and that is on its way", "exchange"} {
		ns := 0.4 * math.Pow(3, float64(i))
		ops.Rows = append(ops.Rows, result.Row{Label: name, Cells: []result.Cell{cellOf(ns, 0.1), cellOf(ns*40, 0.5), cellOf(40, 0.4)}})
	}
	lost := result.Table{Caption: "A counter that both threads raise", Label: "on", Chart: result.Bars, Log: true,
		Columns: []result.Column{{Name: "compare-and-swap"}, {Name: "updates"}, {Name: "lost", Unit: "per million", Plot: true}}}
	for _, place := range []string{"one CPU", "two CPUs"} {
		for i, body := range []string{"three instructions", "CMPXCHG", "LOCK CMPXCHG"} {
			c := cellOf(412_000/math.Pow(90, float64(i)), 0.6)
			switch {
			case i == 2:
				c = result.Cell{N: 5}
			case i == 1 && place == "one CPU":
				c = result.Cell{Lo: 0, Median: 0.3, Hi: 4, N: 5}
			}
			lost.Rows = append(lost.Rows, result.Row{Label: place, Cells: []result.Cell{{Text: body}, {Median: 3e7, Lo: 3e7, Hi: 3e7, N: 1}, c}})
		}
	}
	arbiter := result.Table{Caption: "8 contenders", Label: "policy", Chart: result.Bars,
		Columns: append(columns("", "rounds for a grant", "by the formula"), result.Column{Name: "Jain index"})}
	for i, name := range []string{"circuit, all pull in every round", "circuit, each pulls with probability 1/N", "round robin"} {
		c := cellOf(3-float64(i), 0.02)
		if i == 0 {
			c = result.Cell{Text: "never"}
		}
		arbiter.Rows = append(arbiter.Rows, result.Row{Label: name, Cells: []result.Cell{c, {Median: 2.55, Lo: 2.55, Hi: 2.55, N: 1}, {Text: "-"}}})
	}
	return []result.Table{ops, lost, arbiter}
}

func lineTables() []result.Table {
	near := result.Table{Caption: "Two words, so many bytes apart", Label: "bytes between the words", Chart: result.Lines, Log: true,
		Columns: append(columns("ns", "sync/atomic Add", "load and store", "only one thread"), result.Column{Name: "times alone"})}
	near.Rows = append(near.Rows, result.Row{Label: "alone", Cells: []result.Cell{cellOf(4, 0.1), cellOf(1, 0.1), cellOf(1, 0)}})
	for x := 8; x <= 512; x *= 2 {
		ns := 60.0
		if x >= 64 {
			ns = 4.2
		}
		c := cellOf(ns, 0.2)
		if x == 32 {
			c = result.Cell{Text: "-"}
		}
		near.Rows = append(near.Rows, result.Row{Label: strconv.Itoa(x), X: float64(x), Cells: []result.Cell{c, cellOf(ns/3, 0.3), cellOf(1.02, 0.02), cellOf(ns/4, 0.1)}})
	}
	flat := result.Table{Caption: "Share that was seen out of order", Label: "turns in a row", Chart: result.Lines, Columns: columns("%", "seen")}
	for i := range 6 {
		flat.Rows = append(flat.Rows, result.Row{Label: fmt.Sprint(i + 1), X: float64(i + 1), Cells: []result.Cell{cellOf(30+10*math.Sin(float64(i)), 0.1)}})
	}
	rare := result.Table{Caption: "Lost for each million", Label: "pauses", Chart: result.Lines, Log: true, Columns: columns("per million", "lost")}
	for i := range 7 {
		x := math.Pow(2, float64(i))
		c := cellOf(1e5/x/x, 0.4)
		if i > 4 {
			c = result.Cell{N: 5, Hi: 3}
		}
		rare.Rows = append(rare.Rows, result.Row{Label: numfmt.Number(x), X: x, Cells: []result.Cell{c}})
	}
	return []result.Table{near, flat, rare}
}

func laboratory() *result.Run {
	finding := func(name, question string, tables ...result.Table) *result.Finding {
		return &result.Finding{
			Name: name, Question: question, Method: "It was made up.", Source: "Made up, 2020", Elapsed: 3210 * time.Millisecond,
			Answer: "With all CPUs on one line an operation takes 40 times what it takes alone.", Tables: tables,
			Notes: []string{"two threads, bound to CPU 0 and CPU 1", "a made-up note"},
		}
	}
	run := synthetic.Run(1, 0, 2, nil)
	run.Findings = []*result.Finding{
		finding("cost", "What does an operation cost?", barTables()...),
		finding("sharing", "How far apart must two words be?", lineTables()...),
		finding("core-to-core", "How long does a word take from one CPU to another?", field(16, 0.05), field(2, 0)),
		finding("listing", "What are the instructions?", result.Table{Caption: "Words only", Label: "name", Columns: []result.Column{{Name: "what"}},
			Rows: []result.Row{{Label: "a", Cells: []result.Cell{{Text: "no figure at all, but a rather long sentence about something that was seen"}}}}}),
	}
	run.Findings[3].Listing = "-> 0000  f0 0f b1 0a  LOCK CMPXCHGL CX, 0(DX)\n   0004  c3           RET\n"
	run.Findings[1].Interrupted = true
	run.Findings[0].Warnings = []harness.Warning{{Text: "the clock of the guest ran at 98 %", Remedy: "use bare metal"}}
	return run
}
