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

func cellOf(median, spread float64) harness.Cell {
	return harness.Cell{Median: median, Lo: median * (1 - spread), Hi: median * (1 + spread), N: 5}
}

func columns(unit string, names ...string) (cs []harness.Column) {
	for _, n := range names {
		cs = append(cs, harness.Column{Name: n, Unit: unit, Plot: true})
	}
	return cs
}

// field returns a table of the time between any two of n CPUs in two sockets, with caches
// of eight CPUs each. hole is the share of missing pairs.
func field(n int, hole float64) harness.Table {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	t := harness.Table{Caption: "One way from one CPU to another", Label: "CPU", Chart: harness.Heat, Log: true}
	for i := range n {
		t.Columns = append(t.Columns, harness.Column{Name: strconv.Itoa(i), Unit: "ns", Plot: true})
		row := harness.Row{Label: strconv.Itoa(i)}
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
				c = harness.Cell{}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func barTables() []harness.Table {
	ops := harness.Table{Caption: "Time of one operation", Label: "operation", Chart: harness.Bars, Log: true,
		Columns: append(columns("ns", "alone", "all CPUs at one word"), harness.Column{Name: "times alone"})}
	for i, name := range []string{"load", "store", "compare-and-swap that hits", "compare-and-swap that misses, of a word that another processor has just written and that is on its way", "exchange"} {
		ns := 0.4 * math.Pow(3, float64(i))
		ops.Rows = append(ops.Rows, harness.Row{Label: name, Cells: []harness.Cell{cellOf(ns, 0.1), cellOf(ns*40, 0.5), cellOf(40, 0.4)}})
	}
	lost := harness.Table{Caption: "A counter that both threads raise", Label: "on", Chart: harness.Bars, Log: true,
		Columns: []harness.Column{{Name: "compare-and-swap"}, {Name: "updates"}, {Name: "lost", Unit: "per million", Plot: true}}}
	for _, place := range []string{"one CPU", "two CPUs"} {
		for i, body := range []string{"three instructions", "CMPXCHG", "LOCK CMPXCHG"} {
			c := cellOf(412_000/math.Pow(90, float64(i)), 0.6)
			switch {
			case i == 2:
				c = harness.Cell{N: 5}
			case i == 1 && place == "one CPU":
				c = harness.Cell{Lo: 0, Median: 0.3, Hi: 4, N: 5}
			}
			lost.Rows = append(lost.Rows, harness.Row{Label: place, Cells: []harness.Cell{{Text: body}, {Median: 3e7, Lo: 3e7, Hi: 3e7, N: 1}, c}})
		}
	}
	arbiter := harness.Table{Caption: "8 contenders", Label: "policy", Chart: harness.Bars,
		Columns: append(columns("", "rounds for a grant", "by the formula"), harness.Column{Name: "Jain index"})}
	for i, name := range []string{"circuit, all pull in every round", "circuit, each pulls with probability 1/N", "round robin"} {
		c := cellOf(3-float64(i), 0.02)
		if i == 0 {
			c = harness.Cell{Text: "never"}
		}
		arbiter.Rows = append(arbiter.Rows, harness.Row{Label: name, Cells: []harness.Cell{c, {Median: 2.55, Lo: 2.55, Hi: 2.55, N: 1}, {Text: "-"}}})
	}
	return []harness.Table{ops, lost, arbiter}
}

func lineTables() []harness.Table {
	near := harness.Table{Caption: "Two words, so many bytes apart", Label: "bytes between the words", Chart: harness.Lines, Log: true,
		Columns: append(columns("ns", "sync/atomic Add", "load and store", "only one thread"), harness.Column{Name: "times alone"})}
	near.Rows = append(near.Rows, harness.Row{Label: "alone", Cells: []harness.Cell{cellOf(4, 0.1), cellOf(1, 0.1), cellOf(1, 0)}})
	for x := 8; x <= 512; x *= 2 {
		ns := 60.0
		if x >= 64 {
			ns = 4.2
		}
		c := cellOf(ns, 0.2)
		if x == 32 {
			c = harness.Cell{Text: "-"}
		}
		near.Rows = append(near.Rows, harness.Row{Label: strconv.Itoa(x), X: float64(x), Cells: []harness.Cell{c, cellOf(ns/3, 0.3), cellOf(1.02, 0.02), cellOf(ns/4, 0.1)}})
	}
	flat := harness.Table{Caption: "Share that was seen out of order", Label: "turns in a row", Chart: harness.Lines, Columns: columns("%", "seen")}
	for i := range 6 {
		flat.Rows = append(flat.Rows, harness.Row{Label: fmt.Sprint(i + 1), X: float64(i + 1), Cells: []harness.Cell{cellOf(30+10*math.Sin(float64(i)), 0.1)}})
	}
	rare := harness.Table{Caption: "Lost for each million", Label: "pauses", Chart: harness.Lines, Log: true, Columns: columns("per million", "lost")}
	for i := range 7 {
		x := math.Pow(2, float64(i))
		c := cellOf(1e5/x/x, 0.4)
		if i > 4 {
			c = harness.Cell{N: 5, Hi: 3}
		}
		rare.Rows = append(rare.Rows, harness.Row{Label: numfmt.Number(x), X: x, Cells: []harness.Cell{c}})
	}
	return []harness.Table{near, flat, rare}
}

func laboratory() *result.Run {
	finding := func(name, question string, tables ...harness.Table) *harness.Finding {
		return &harness.Finding{
			Name: name, Question: question, Method: "It was made up.", Source: "Made up, 2020", Elapsed: 3210 * time.Millisecond,
			Answer: "With all CPUs on one line an operation takes 40 times what it takes alone.", Tables: tables,
			Notes: []string{"two threads, bound to CPU 0 and CPU 1", "a made-up note"},
		}
	}
	run := synthetic.Run(1, 0, 2, nil)
	run.Findings = []*harness.Finding{
		finding("cost", "What does an operation cost?", barTables()...),
		finding("sharing", "How far apart must two words be?", lineTables()...),
		finding("core-to-core", "How long does a word take from one CPU to another?", field(16, 0.05), field(2, 0)),
		finding("listing", "What are the instructions?", harness.Table{Caption: "Words only", Label: "name", Columns: []harness.Column{{Name: "what"}},
			Rows: []harness.Row{{Label: "a", Cells: []harness.Cell{{Text: "no figure at all, but a rather long sentence about something that was seen"}}}}}),
	}
	run.Findings[3].Listing = "-> 0000  f0 0f b1 0a  LOCK CMPXCHGL CX, 0(DX)\n   0004  c3           RET\n"
	run.Findings[1].Interrupted = true
	run.Findings[0].Warnings = []harness.Warning{{Text: "the clock of the guest ran at 98 %", Remedy: "use bare metal"}}
	return run
}
