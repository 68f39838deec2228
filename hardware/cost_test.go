package hardware

import (
	"slices"
	"testing"
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
