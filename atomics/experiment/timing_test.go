package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
	"locklab/internal/machine"
)

func TestCrewRunsEveryThreadInEveryStep(t *testing.T) {
	c, err := newCrew(unbound, unbound, unbound)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var calls [3]int
	for range 10 {
		c.step(func(i int) { calls[i]++ })
	}
	if calls != [3]int{10, 10, 10} {
		t.Errorf("calls are %v", calls)
	}
}

func TestCrewRefusesAnUnknownCPU(t *testing.T) {
	if c, err := newCrew(1 << 20); err == nil {
		c.close()
		t.Error("a thread is bound to CPU 1048576")
	}
}

func TestTimed(t *testing.T) {
	c, err := newCrew(unbound)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var ops atomic.Int64
	ns, err := timed(t.Context(), c, time.Millisecond, func(_, n int) {
		time.Sleep(100 * time.Microsecond)
		ops.Add(int64(n))
	})
	// A batch sleeps for at least 100 µs, so an operation takes its share.
	if want := 100_000. / (float64(ops.Load()) + 1); err != nil || ns < want {
		t.Errorf("%v ns for an operation, error %v; want at least %v", ns, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := timed(ctx, c, time.Hour, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestRatios(t *testing.T) {
	if got := ratios([]float64{2, 9}, []float64{1, 3}); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("ratios are %v", got)
	}
}

// TestRepeatKeepsWhatFinished: an interrupt does not throw away the repeats
// before it.
func TestRepeatKeepsWhatFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done, err := repeat(ctx, Options{Repeats: 5}, func(round int) error {
		if round == 2 {
			cancel()
			return ctx.Err()
		}
		return nil
	})
	if done != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d done, error %v", done, err)
	}
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
		var w atomics.Uint64
		want := uint64(0)
		if op.name == "add" {
			want = 7
		}
		if op.run(&w, 7); w.Load() != want {
			t.Errorf("%s leaves %d", op.name, w.Load())
		}
	}
}

// TestSharingAnswer checks that the answer follows the figures.
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
		if got := sharingAnswer(inc, cells); got != test.want {
			t.Errorf("%v: answer is %q, want %q", test.ns, got, test.want)
		}
	}
}

func TestCostAnswer(t *testing.T) {
	cells := []*costCell{
		{op: operation{name: "load"}, alone: []float64{1}, shared: []float64{1}},
		{op: operation{name: "swap"}, alone: []float64{2}, shared: []float64{12}},
		{op: operation{name: "add"}, alone: []float64{2}, shared: []float64{8}},
	}
	if got := costAnswer(cells); !strings.Contains(got, "between 1 times (load) and 6 times (swap)") {
		t.Errorf("answer is %q", got)
	}
}

func TestPairsOf(t *testing.T) {
	for _, test := range []struct{ cpus, want int }{{2, 1}, {4, 6}, {maxPaired, maxPaired * (maxPaired - 1) / 2}, {64, 63}} {
		cpus := make([]int, test.cpus)
		for i := range cpus {
			cpus[i] = 2 * i
		}
		cells := pairsOf(cpus)
		seen := make(map[[2]int]bool)
		for _, c := range cells {
			seen[c.cpus] = c.cpus[0] < c.cpus[1]
		}
		if len(cells) != test.want || len(seen) != test.want {
			t.Errorf("%d CPUs: %d pairs, %d different, want %d", test.cpus, len(cells), len(seen), test.want)
		}
	}
}

func TestHopAnswer(t *testing.T) {
	one := &hopCell{ns: []float64{30, 60, 20}}
	two := &hopCell{ns: []float64{90}}
	if got, want := hopAnswer([]*hopCell{one}), "30 ns one way; the slowest repeat took 3 times as long as the fastest."; got != want {
		t.Errorf("answer is %q, want %q", got, want)
	}
	if got, want := hopAnswer([]*hopCell{one, two}), "30 ns one way between the nearest CPUs and 90 ns between the farthest, 3 times as long."; got != want {
		t.Errorf("answer is %q, want %q", got, want)
	}
}

// TestNeedTwoCPUs keeps the reason in step with the machine.
func TestNeedTwoCPUs(t *testing.T) {
	if got, want := needTwoCPUs() == nil, len(machine.CPUOrder()) >= 2; got != want {
		t.Errorf("available %v with the CPUs %v", got, machine.CPUOrder())
	}
}
