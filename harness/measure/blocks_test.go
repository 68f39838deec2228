package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/stat"
)

func TestBlocksAlternate(t *testing.T) {
	p := plan(3, good, readers, single)
	p.Every.Window = 2
	open := p.Cases[0]
	open.Workload.Rate = 1e4
	other := p.Cases[0]
	other.Workload.Workers++
	p.Cases = append(p.Cases, open, other)
	var alone, shared []*result.Result
	for _, at := range measurePlan(t, p) {
		if at.Case.Workload == p.Cases[0].Workload {
			shared = append(shared, at.Result)
		} else {
			alone = append(alone, at.Result)
		}
	}
	if len(shared) != 9 || len(alone) != 6 {
		t.Fatalf("%d results share a process, %d do not", len(shared), len(alone))
	}
	processes := make(map[uint64][]int)
	for _, r := range shared {
		n, _ := p.blocks(r.Workload, false, r.Round)
		window := r.Round != 1
		if window {
			n++
		}
		if b := r.Blocks; b == nil || !b.Valid() || len(b.Ops) != n || middleOf(b.Ops) == 0 {
			t.Errorf("%s: blocks %+v, want %d", r.Lock.Name, r.Blocks, n)
			continue
		}
		if whole := total(r.Blocks.Ops) == r.Ops && total(r.Blocks.Elapsed) == int64(r.Elapsed) && total(r.Blocks.Handovers) == r.Handovers; whole == window || (len(r.Wait) > 0) != window || (r.Workers != nil) != window ||
			r.Noise == nil || r.CPU.Time == 0 || r.Overlap == 0 || r.Hold.N == 0 {
			t.Errorf("round %d: %+v: want windows in the first and third, and sums of the blocks in the second", r.Round, r)
		}
		processes[r.Blocks.Process] = append(processes[r.Blocks.Process], r.Round)
	}
	if len(processes) != 3 {
		t.Errorf("processes %v, want one for each round", processes)
	}
	for _, rounds := range processes {
		if len(rounds) != 3 || slices.Min(rounds) != slices.Max(rounds) {
			t.Errorf("the results of a process are of the rounds %v", rounds)
		}
	}
	for _, r := range alone {
		if r.Blocks != nil {
			t.Errorf("%s with %s has blocks", r.Lock.Name, r.Workload.Name())
		}
	}
}

func total[T int64 | uint32 | uint64](xs []T) (sum T) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// middleOf ignores single blocks without an acquisition: the host may take the processor for 5 ms.
func middleOf(ops []uint64) uint64 { return slices.Sorted(slices.Values(ops))[len(ops)/2] }

func measureBlocks(t *testing.T, jobs []Job, s spec) []*result.Result {
	t.Helper()
	var out bytes.Buffer
	requireNoError(t, measureShared(t.Context(), instruments(), jobs, s, &out))
	all, err := results(out.Bytes())
	requireNoError(t, err)
	return all
}

// TestSkippedPass: a lock that left the race has only its first block and its window; a
// reference has several blocks in a pass.
func TestSkippedPass(t *testing.T) {
	s := spec{Workload: harness.Workload{Workers: 1, Window: 5 * time.Millisecond}, Block: 5 * time.Millisecond, Shared: []share{{Passes: 3, PerPass: 3}, {Passes: 1, PerPass: 1}}}
	jobs := []Job{{Lock: good, Workload: s.Workload}, {Lock: readers, Workload: s.Workload}}
	all, resumed := measureBlocks(t, jobs, s), measureBlocks(t, jobs, s)
	if p := all[0].Blocks.Process; p != all[1].Blocks.Process || p == resumed[0].Blocks.Process {
		t.Errorf("process %d also measured %+v: a lock pairs with locks of its own process only", p, resumed[0].Blocks)
	}
	for _, r := range all {
		b, n := r.Blocks, 10 // three blocks of three passes and a window
		if r.Lock.Name == readers.Name {
			n = 4
		}
		if skipped := slices.Equal(b.Elapsed[1:3], []int64{0, 0}); !b.Valid() || len(b.Ops) != n || skipped != (r.Lock.Name == readers.Name) {
			t.Errorf("%s: blocks %+v", r.Lock.Name, b)
		}
		if n := len(b.Ratios(all[0].Blocks, func(b *result.Blocks) []uint64 { return b.Ops })); r != all[0] && n != 4 {
			t.Errorf("%d pairs of blocks, want 4: three of the first pass and the windows", n)
		}
	}
}

// TestBlameInSharedProcess: only the lock that breaks the process gets the blame.
func TestBlameInSharedProcess(t *testing.T) {
	for _, c := range []struct {
		bad  *harness.Variant
		rule string
	}{{busted, oracle.Exclusion}, {crash, oracle.Crash}, {stuck, oracle.Liveness}} {
		if c.bad == busted && locktest.RaceDetector {
			c.rule = oracle.Crash // the race detector ends the process
		}
		if c.bad == stuck && testing.Short() {
			continue // a lock counts as stuck after ten seconds, twice; make test-all waits for it
		}
		p := plan(1, good, c.bad, readers)
		for i := range p.Cases {
			p.Cases[i].Workload.Workers = 4
		}
		var measured []string
		for _, at := range measurePlan(t, p) {
			name, vs := at.Case.Lock.Name, at.Result.Violations
			measured = append(measured, name)
			if blamed := len(vs) > 0; blamed != (name == c.bad.Name) || blamed && vs[0].Rule != c.rule {
				t.Errorf("%s with %s: %+v", name, c.bad.Name, vs)
			}
		}
		slices.Sort(measured)
		if want := slices.Sorted(slices.Values([]string{"good", "readers", c.bad.Name})); !slices.Equal(measured, want) {
			t.Errorf("%q have results, want %q", measured, want)
		}
	}
}

func TestSharedInterrupted(t *testing.T) {
	p := plan(1, good, readers, hang)
	for i := range p.Cases {
		p.Cases[i].Workload.Window = 20 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	if err := p.Run(ctx, func(Progress) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v, want the end of its context", err)
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		workers, procs int
		remote         bool
		window         time.Duration
		want           [3]string // with windows in each process; if others have none; without one
	}{
		{1, 2, false, 100, [3]string{"10 of 5ms", "2 of 5ms", "10 of 5ms"}},
		{1, 2, false, 20, [3]string{"4 of 5ms", "2 of 5ms", "4 of 5ms"}},
		{2, 2, false, 100, [3]string{"5 of 10ms", "1 of 10ms", "5 of 10ms"}},
		{3, 2, false, 100, [3]string{"2 of 20ms", "1 of 20ms", "2 of 20ms"}},
		{16, 2, false, 250, [3]string{"6 of 20ms", "1 of 20ms", "6 of 20ms"}},
		{4800, 2, false, 250, [3]string{"2 of 96ms", "1 of 96ms", "2 of 96ms"}},
		{2, 1, false, 20, [3]string{"2 of 20ms", "1 of 20ms", "2 of 20ms"}},
		{1, 2, true, 100, [3]string{"2 of 50ms", "1 of 50ms", "2 of 50ms"}},
		{16, 2, true, 100, [3]string{"2 of 50ms", "0 of 0s", "1 of 200ms"}},
	} {
		w, every, other := harness.Workload{Workers: c.workers, GOMAXPROCS: c.procs, Window: c.window * time.Millisecond}, new(Plan), new(Plan)
		other.Every.Window = 2
		var got [3]string
		for i, p := range []*Plan{every, other, other} {
			n, length := p.blocks(w, c.remote, 2-i/2)
			got[i] = fmt.Sprintf("%d of %v", n, length)
		}
		if got != c.want {
			t.Errorf("%d workers on %d processors, distributed %v, window %v: %q blocks, want %q", c.workers, c.procs, c.remote, w.Window, got, c.want)
		}
	}
}

// BenchmarkShared compares the ratio of two locks that take turns in one process with their
// ratio in processes of their own, which run next:
//
//	go test -run '^$' -bench Shared -benchtime 20x ./harness/measure
//
// difference-% is the median of the first ratio divided by the second, minus one. lo-% and
// hi-% are the ends of its 95 % interval.
func BenchmarkShared(b *testing.B) {
	for _, workers := range []int{1, 2, 16} {
		measure := func(b *testing.B, locks ...*harness.Variant) []*result.Result {
			p := plan(1, locks...)
			p.Seed = rand.Uint64()
			for i := range p.Cases {
				p.Cases[i].Workload = harness.Workload{Workers: workers, Hold: harness.Span{Mean: 100 * time.Nanosecond}, Warmup: 20 * time.Millisecond, Window: 250 * time.Millisecond}
			}
			all := make([]*result.Result, len(locks))
			for _, at := range measurePlan(b, p) {
				all[slices.Index(locks, at.Case.Lock)] = at.Result
			}
			return all
		}
		b.Run("workers="+strconv.Itoa(workers), func(b *testing.B) {
			var shared, own []float64
			for b.Loop() {
				both, x, y := measure(b, good, readers), measure(b, readers)[0], measure(b, good)[0]
				shared = append(shared, stat.Median(both[1].Blocks.Ratios(both[0].Blocks, func(b *result.Blocks) []uint64 { return b.Ops })))
				own = append(own, float64(x.Ops)/float64(x.Elapsed)*float64(y.Elapsed)/float64(y.Ops))
			}
			d := stat.Paired(shared, own, 0.95)
			b.ReportMetric(stat.Median(shared), "shared-ratio")
			b.ReportMetric(100*(d.Median-1), "difference-%")
			b.ReportMetric(100*(d.Lo-1), "lo-%")
			b.ReportMetric(100*(d.Hi-1), "hi-%")
		})
	}
}
