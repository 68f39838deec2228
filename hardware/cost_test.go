package hardware

import (
	"slices"
	"testing"
	"time"
)

func measured(op operation, ns ...float64) *costCell {
	c := newCostCell(op, nil, []int{1, 2, 4})
	for i := range c.ns {
		c.ns[i] = ns[i : i+1]
	}
	return c
}

func TestCostAnswer(t *testing.T) {
	cells := []*costCell{
		measured(operation{name: "plain", private: true}, 100),
		measured(operation{name: "load"}, 1, 9, 1),
		measured(operation{name: "swap"}, 2, 9, 12),
		measured(operation{name: "add"}, 2, 9, 8),
	}
	if got, want := costAnswer(cells), "With all CPUs on one line an operation takes between 1 times (load) and 6 times (swap) what it takes alone."; got != want {
		t.Errorf("answer is %q, want %q", got, want)
	}
}

func TestCostTables(t *testing.T) {
	cells := []*costCell{
		measured(operation{name: "plain", private: true}, 1),
		measured(operation{name: "load"}, 1, 3, 5),
		measured(operation{name: "swap"}, 2, 9, 12),
	}
	count := countTable(cells)
	both := costTable(cells, 4)
	requireTables(t, count, both)
	if len(count.Rows) != 3 || len(count.Columns) != 2 || count.Rows[1].X != 2 || count.Rows[1].Cells[1].Median != 9 {
		t.Errorf("%+v", count)
	}
	if both.Rows[1].Cells[2].Median != 5 || both.Rows[0].Cells[1].Text != "n/a" {
		t.Errorf("%+v", both)
	}
}

func TestCounts(t *testing.T) {
	for n, want := range map[int][]int{
		1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 12: {1, 2, 4, 8, 12},
		64: {1, 2, 4, 8, 16, 32, 64}, 256: {1, 2, 4, 8, 16, 32, 64, 256},
	} {
		if got := counts(n); !slices.Equal(got, want) {
			t.Errorf("%d CPUs: %v, want %v", n, got, want)
		}
	}
}

// TestFastPathsFreeTheLock: otherwise a path would time failing compare-and-swaps.
func TestFastPathsFreeTheLock(t *testing.T) {
	for _, p := range fastPaths() {
		w := new(fastPathWords)
		for range 2 {
			p.run(w, 3)
			if w.bare != 0 || w.word.Load() != 0 || !w.mutex.TryLock() {
				t.Fatalf("%s leaves its lock taken", p.name)
			}
			w.mutex.Unlock()
		}
	}
	if bareFastPath != nil {
		// A loop that did nothing would pass: let it meet a taken lock, which it frees.
		w := &fastPathWords{bare: 7}
		if bareFastPath.run(w, 1); w.bare == 0 {
			return
		}
		t.Error("the bare loop does not store")
	}
}

func TestTimeFastPaths(t *testing.T) {
	var order []int
	var paths []fastPath
	for i := range 3 {
		paths = append(paths, fastPath{run: func(*fastPathWords, int) { order = append(order, i) }})
	}
	ns := make([][]float64, len(paths))
	first, follows := make(map[int]int), make(map[[2]int]int)
	const rounds = 12
	for round := range rounds {
		order = nil
		timeFastPaths(paths, nil, round, ns)
		first[order[0]]++
		for k := range order[1:] {
			follows[[2]int(order[k:])]++
		}
		if slices.Sort(order); !slices.Equal(order, []int{0, 1, 2}) {
			t.Errorf("round %d ran %v", round, order)
		}
	}
	for pair, n := range follows {
		if len(follows) != 6 || n != 2*rounds/6 {
			t.Errorf("path %d came right before path %d %d times in %d rounds", pair[0], pair[1], n, rounds)
		}
	}
	for i := range paths {
		if first[i] != rounds/3 || len(ns[i]) != rounds {
			t.Errorf("path %d was first in %d of %d rounds, and was timed %d times", i, first[i], rounds, len(ns[i]))
		}
	}
}

func TestMeasureFastPaths(t *testing.T) {
	slow := fastPath{"slow", func(*fastPathWords, int) { time.Sleep(50 * time.Microsecond) }}
	quick := fastPath{"quick", func(*fastPathWords, int) {}}
	c := newFastPathCell([]fastPath{slow, quick}, unbound)
	if err := c.measure(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if least := 50_000. / fastPathBatch; c.ns[0][0] < least || c.ratio[0][0] != 1 || c.ratio[1][0] >= 1 {
		t.Errorf("ns %v, want at least %v for the first; ratios %v", c.ns, least, c.ratio)
	}
}

func TestFastPathCell(t *testing.T) {
	c := fastPathCell{paths: []fastPath{{name: "bare"}, {name: "A"}, {name: "B"}},
		ns: [][]float64{{2}, {3}, {5}}, ratio: [][]float64{{1}, {1.5}, {2.5}}}
	if got, want := c.answer(), "To take and free an uncontended lock costs, beside bare, 1.5 times by A, 2.5 times by B."; got != want {
		t.Errorf("answer is %q, want %q", got, want)
	}
	table := c.table()
	requireTables(t, table)
	if table.Rows[2].Cells[0].Median != 5 || table.Rows[2].Cells[1].Median != 2.5 {
		t.Errorf("%+v", table)
	}
}
