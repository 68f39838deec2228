package hardware

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/harness/result"
)

func TestPinnedThreadsRunsEveryThreadInEveryStep(t *testing.T) {
	c := startThreads(t, unbound, unbound, unbound)
	var calls [3]int
	for range 10 {
		c.step(func(i int) { calls[i]++ })
	}
	if calls != [3]int{10, 10, 10} {
		t.Errorf("calls are %v", calls)
	}
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
		ns   []float64 // alone, then at 8, 64 and 128 bytes
		want string
	}{
		{[]float64{2, 8, 2, 2.2}, "add: up to 4 times alone, at 8 bytes, from 64 bytes on at most 1.1 times"},
		{[]float64{2, 8, 10, 2}, "add: up to 5 times alone, at 64 bytes, from 128 bytes on at most 1 times"},
		{[]float64{2, 8, 10, 9}, "add: up to 5 times alone, at 64 bytes, and it is not over at the greatest distance"},
		{[]float64{2, 2.2, 2, 2}, "add: at no distance more than 1.1 times alone"},
	} {
		var cells []*sharingCell
		for i, d := range []int{0, 8, 64, 128} {
			cells = append(cells, &sharingCell{inc: inc, distance: d, ns: test.ns[i : i+1]})
		}
		if got := sharingAnswer(cells); got != test.want {
			t.Errorf("%v: answer is %q, want %q", test.ns, got, test.want)
		}
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
