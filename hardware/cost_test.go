package hardware

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/harness/result"
	"locklab/internal/require"
)

func measuredCost(op operation, ns ...float64) *costCell {
	c := newCostCell(op, nil, []int{1, 2, 4})
	for i := range c.ns {
		c.ns[i] = ns[i : i+1]
	}
	return c
}

func TestCost(t *testing.T) {
	cells := []*costCell{
		measuredCost(operation{name: "plain", private: true}, 100),
		measuredCost(operation{name: "load"}, 1, 3, 1),
		measuredCost(operation{name: "swap"}, 2, 9, 12),
		measuredCost(operation{name: "add"}, 2, 9, 8),
	}
	if got, want := costAnswer(cells), "With all CPUs on one line an operation takes between 1 times (load) and 6 times (swap) what it takes alone."; got != want {
		t.Errorf("answer is %q, want %q", got, want)
	}
	count, both := countTable(cells), costTable(cells, 4)
	requireTables(t, count, both)
	if len(count.Rows) != 3 || len(count.Columns) != 3 || count.Rows[1].X != 2 || count.Rows[1].Cells[1].Median != 9 {
		t.Errorf("%+v", count)
	}
	if both.Rows[2].Cells[2].Median != 6 || both.Rows[0].Cells[1].Text != "n/a" {
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
	requireNoError(t, c.measure(t.Context(), time.Millisecond))
	if least := 50_000. / fastPathBatch; c.ns[0][0] < least || c.ratio[0][0] != 1 || c.ratio[1][0] >= 1 {
		t.Errorf("ns %v, want at least %v for the first; ratios %v", c.ns, least, c.ratio)
	}
}

func TestFastPathCell(t *testing.T) {
	c := fastPathCell{paths: []fastPath{{name: "bare"}, {name: "A"}, {name: "B"}},
		ns: [][]float64{{2}, {3}, {5}}, ratio: [][]float64{{1}, {1.5}, {2.5}}}
	if got, want := c.answer(), "To take and free an uncontended lock costs, compared with bare, 1.5 times by A, 2.5 times by B."; got != want {
		t.Errorf("answer is %q, want %q", got, want)
	}
	table := c.table()
	requireTables(t, table)
	if table.Rows[2].Cells[0].Median != 5 || table.Rows[2].Cells[1].Median != 2.5 {
		t.Errorf("%+v", table)
	}
}

func TestPinnedThreadsRunsEveryThreadInEveryStep(t *testing.T) {
	c := startThreads(t, unbound, unbound, unbound)
	var calls [3]int
	for range 10 {
		c.step(func(i int) { calls[i]++ })
	}
	require.Equal(t, "calls", calls, [3]int{10, 10, 10})
}

func TestPinnedThreadsRefusesAnUnknownCPU(t *testing.T) {
	if c, err := newPinnedThreads(1 << 20); err == nil {
		c.close()
		t.Error("a thread is bound to CPU 1048576")
	}
}

func TestTimed(t *testing.T) {
	var ops atomic.Int64
	ns, err := timed(t.Context(), []int{unbound}, time.Millisecond, func(_, n int) {
		time.Sleep(100 * time.Microsecond)
		ops.Add(int64(n))
	})
	// A batch sleeps for at least 100 µs, so an operation takes its share.
	if want := 100_000. / (float64(ops.Load()) + 1); err != nil || ns < want {
		t.Errorf("%v ns for an operation, error %v; want at least %v", ns, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := timed(ctx, []int{unbound}, time.Hour, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestRepeatKeepsWhatFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &cancelingCell{cancel: cancel}
	f, err := measureCells(ctx, Options{Repeats: 5}, 1, []cell{c}, func() *result.Finding { return new(result.Finding) })
	if f == nil || c.calls != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%v after %d calls, error %v", f, c.calls, err)
	}
}

// A cancelingCell cancels its context in the second repeat.
type cancelingCell struct {
	calls  int
	cancel func()
}

func (c *cancelingCell) measure(context.Context, time.Duration) error {
	if c.calls++; c.calls == 2 {
		c.cancel()
	}
	return nil
}

func TestAlignedWords(t *testing.T) {
	for range 50 {
		words := alignedWords(33)
		if at := uintptr(unsafe.Pointer(&words[0])); at%256 != 0 || len(words) != 33 {
			t.Fatalf("%d words at %#x", len(words), at)
		}
	}
}

func TestIncrementsCount(t *testing.T) {
	for _, inc := range increments {
		n := uint64(5)
		if inc.run(&n, 7); n != 12 {
			t.Errorf("%s: 5 and 7 make %d", inc.name, n)
		}
	}
}

func TestOperationsLeaveZero(t *testing.T) {
	for _, op := range operations {
		w := new(costWords)
		want := uint64(0)
		if op.name == "add" {
			want = 7
		}
		if op.run(w, 7); w.word.Load() != want || w.plain != 0 || w.read != 0 {
			t.Errorf("%s leaves %d, %d and %d", op.name, w.word.Load(), w.plain, w.read)
		}
	}
}

func TestSharingAnswer(t *testing.T) {
	inc := increment{name: "add"}
	for _, test := range []struct {
		ns   []float64 // alone, then at 8, 64 and 128 bytes, in one repeat or two
		want string
	}{
		{[]float64{2, 8, 2, 2.2}, "add: up to 4 times alone, at 8 bytes, from 64 bytes on at most 1.1 times"},
		{[]float64{2, 8, 10, 2}, "add: up to 5 times alone, at 64 bytes, from 128 bytes on at most 1 times"},
		{[]float64{2, 8, 10, 9}, "add: up to 5 times alone, at 64 bytes, and it still does so at the greatest distance"},
		{[]float64{2, 8, 2, 2, 2, 1, 2, 2}, "add: inconclusive, 2.25 [0.5..4] times alone at 8 bytes and 1 at 128"},
		{[]float64{2, 8, 2, 9, 2, 8, 2, 1}, "add: inconclusive, 4 times alone at 8 bytes and 2.5 [0.5..4.5] at 128"},
		{[]float64{2, 2.2, 2, 2}, "add: at no distance more than 1.1 times alone"},
	} {
		var cells []*sharingCell
		for i, d := range []int{0, 8, 64, 128} {
			cells = append(cells, &sharingCell{inc: inc, distance: d, ns: []float64{test.ns[i], test.ns[len(test.ns)-4+i]}})
		}
		require.Equal(t, test.ns, sharingAnswer(cells), test.want)
	}
}

func TestSharingTables(t *testing.T) {
	groups := sharingCells()
	for g, group := range groups {
		for i, c := range group {
			c.ns = []float64{float64((g + 1) * (i + 2))} // alone 2 and 4
		}
	}
	tables := sharingTables(groups)
	requireTables(t, tables...)
	multiple, ns := tables[0], tables[1]
	if len(multiple.Rows) != len(distances) || len(ns.Rows) != len(distances)+1 {
		t.Fatalf("%d and %d rows", len(multiple.Rows), len(ns.Rows))
	}
	if r := multiple.Rows[1]; r.X != 16 || r.Cells[0].Median != 2 || r.Cells[1].Median != 2 {
		t.Errorf("at 16 bytes: %+v", r)
	}
	if r := ns.Rows[2]; ns.Rows[0].Label != "alone" || r.Label != "16" || r.Cells[0].Median != 4 || r.Cells[1].Median != 8 {
		t.Errorf("at 16 bytes: %+v", r)
	}
}
