package measure

import (
	"strconv"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/stat"
)

// BenchmarkOverhead prints the costs of the loop, its parts, and a free lock.
func BenchmarkOverhead(b *testing.B) {
	in := instruments()
	var bare, log, timing, direct, locker []float64
	for b.Loop() {
		o := in.Overhead()
		bare, log, timing = append(bare, o.Loop), append(log, o.Log), append(timing, o.Timing)
		direct, locker = append(direct, o.Direct), append(locker, o.Locker)
	}
	b.ReportMetric(stat.Median(bare), "turn-ns")
	b.ReportMetric(stat.Median(log), "log-ns")
	b.ReportMetric(stat.Median(timing), "timing-ns")
	b.ReportMetric(stat.Median(direct), "via=direct-ns")
	b.ReportMetric(stat.Median(locker), "via=locker-ns")
	b.ReportMetric(in.Clock.Floor(), "floor-ns")
}

// BenchmarkShared compares the ratio of two locks in one process with the ratio in two.
func BenchmarkShared(b *testing.B) {
	for _, workers := range []int{1, 2, 16} {
		b.Run("workers="+strconv.Itoa(workers), func(b *testing.B) {
			var shared, alone, difference []float64
			for i := 0; b.Loop(); i++ {
				both := measured(b, i, workers, good, readers)
				own, other := measured(b, i, workers, readers), measured(b, i, workers, good)
				shared = append(shared, ratioOfBlocks(both["readers"].Blocks, both["good"].Blocks))
				alone = append(alone, rate(own["readers"])/rate(other["good"]))
				difference = append(difference, 100*(shared[i]/alone[i]-1))
			}
			b.ReportMetric(stat.Median(shared), "shared-ratio")
			b.ReportMetric(stat.Median(alone), "alone-ratio")
			b.ReportMetric(stat.Median(difference), "difference-%")
			b.ReportMetric(stat.Summarize(difference).Lo, "lo-%")
			b.ReportMetric(stat.Summarize(difference).Hi, "hi-%")
		})
	}
}

func measured(b *testing.B, seed, workers int, locks ...*harness.Variant) map[string]*harness.Result {
	b.Helper()
	p := plan(1, locks...)
	p.Seed = uint64(seed)
	for i := range p.Cases {
		p.Cases[i].Workload = harness.Workload{Workers: workers, Hold: harness.Span{Mean: 100 * time.Nanosecond}, Warmup: 20 * time.Millisecond, Window: 250 * time.Millisecond}
	}
	out := make(map[string]*harness.Result)
	if err := p.Run(b.Context(), func(at Progress) error {
		if at.Result != nil {
			out[at.Case.Lock.Name] = at.Result
		}
		return nil
	}); err != nil || len(out) != len(locks) {
		b.Fatalf("%v, %d results", err, len(out))
	}
	return out
}

func rate(r *harness.Result) float64 { return float64(r.Ops) / float64(r.Elapsed) }

func ratioOfBlocks(x, y *harness.Blocks) float64 {
	var ratios []float64
	for i := range x.Ops {
		ratios = append(ratios, float64(x.Ops[i])/float64(x.Elapsed[i])/(float64(y.Ops[i])/float64(y.Elapsed[i])))
	}
	return stat.Median(ratios)
}
