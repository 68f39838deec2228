package hardware

import (
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/internal/machine"
)

func measured(op operation, ns ...float64) *costCell {
	c := newCostCell(op, []int{1, 2, 4})
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
	crowd := crowdTable(cells)
	if text := checkTable(crowd); text != "" || len(crowd.Rows) != 3 || len(crowd.Columns) != 2 || crowd.Rows[1].X != 2 || crowd.Rows[1].Cells[1].Median != 9 {
		t.Errorf("%s: %+v", text, crowd)
	}
	both := costTable(cells, 4)
	if text := checkTable(both); text != "" || both.Rows[1].Cells[2].Median != 5 || both.Rows[0].Cells[1].Text != "n/a" {
		t.Errorf("%s: %+v", text, both)
	}
	cells[2].cycles[0] = []float64{7}
	in := cycleTable(cells, tickScale{hz: 2e9})
	if text := checkTable(in); text != "" || in.Rows[2].Cells[1].Median != 24 || in.Rows[2].Cells[2].Median != 7 || in.Rows[2].Cells[3].Text != "n/a" {
		t.Errorf("%s: %+v", text, in)
	}
}

func TestTickScale(t *testing.T) {
	timer := tickScale{clock: "CNTVCT_EL0"}
	if got := timer.cell([]float64{1}); got.Text != "n/a" || !strings.Contains(timer.note(), "CNTVCT_EL0") {
		t.Errorf("a timer gives %v and %q", got, timer.note())
	}
	tsc := tickScale{clock: "RDTSC", hz: 3e9}
	if got := tsc.cell([]float64{2}); got.Median != 6 || !strings.Contains(tsc.note(), "3000 MHz") {
		t.Errorf("2 ns at 3 GHz are %v: %q", got, tsc.note())
	}
}

func TestCrowds(t *testing.T) {
	for n, want := range map[int][]int{
		1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 12: {1, 2, 4, 8, 12},
		64: {1, 2, 4, 8, 16, 32, 64}, 256: {1, 2, 4, 8, 16, 32, 64, 256},
	} {
		if got := crowds(n); !slices.Equal(got, want) {
			t.Errorf("%d CPUs: %v, want %v", n, got, want)
		}
	}
}

// TestCountedPerOperation counts the processor time, at most the elapsed time, by the code for
// cycles.
func TestCountedPerOperation(t *testing.T) {
	const event = "task-clock"
	if ok, note := countable(event); !ok {
		t.Skip(note)
	}
	c, err := newPinnedThreads(unbound, unbound)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	work := func(_, n int) { machine.Do(10 * n) }
	ns, err := countedPerOperation(c, event, work)
	if err != nil || ns <= 0 || ns > 10_000 {
		t.Errorf("%v ns of processor time for an operation, error %v", ns, err)
	}
	if _, err := countedPerOperation(c, "no such event", work); err == nil {
		t.Error("an unknown event is counted")
	}
}

func TestCountOf(t *testing.T) {
	reading := func(raw uint64, reason string) []machine.Count {
		return []machine.Count{{Event: "other", Raw: 9 * raw, Enabled: 1, Running: 1}, {Event: "cycles", Raw: raw, Reason: reason, Enabled: 2 * 10, Running: 10}}
	}
	before := reading(100, "")
	after := reading(400, "")
	after[1].Enabled, after[1].Running = 40, 20 // counted during half of the time
	if n, err := countOf("cycles", before, after); err != nil || math.Abs(n-600) > 1e-9 {
		t.Errorf("%v cycles, error %v; want 600", n, err)
	}
	if _, err := countOf("cycles", before, reading(400, "no counters")); err == nil || !strings.Contains(err.Error(), "no counters") {
		t.Errorf("error is %v", err)
	}
}
