package measure

import (
	"strconv"
	"strings"
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

func BenchmarkTransfers(b *testing.B) {
	in := instruments()
	var ns []float64
	failed := 0
	for b.Loop() {
		if samples := transfers(in.Clock, in.Topology.CPUs()); samples != nil {
			ns = append(ns, stat.Median(samples))
		} else {
			failed++
		}
	}
	if len(ns) > 0 {
		b.ReportMetric(stat.Median(ns), "one-way-ns")
	}
	b.ReportMetric(float64(failed)/float64(b.N), "failed/op")
}

// BenchmarkInstruments times a measuring process's setup, alone and with data from its parent.
func BenchmarkInstruments(b *testing.B) {
	known := calibrate()
	b.Run("told=false", func(b *testing.B) {
		for b.Loop() {
			Calibrate()
		}
	})
	b.Run("told=true", func(b *testing.B) {
		for b.Loop() {
			known.instruments()
		}
	})
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

// BenchmarkQueue prints the difference between the waits at a free lock with a known hold and
// theory: the error of the loop, the machine and chance.
func BenchmarkQueue(b *testing.B) {
	for _, s := range queues {
		for _, rho := range []float64{0.5, 0.8} {
			b.Run("queue="+strings.ReplaceAll(s.name, "/", "")+"/load="+strconv.Itoa(int(100*rho))+"%", func(b *testing.B) {
				hold := harness.Span{Mean: 50 * time.Microsecond, Exp: s.name == "M/M/1"}
				w := harness.Workload{Workers: 1, Rate: harness.Rate(rho * 1e9 / float64(hold.Mean)), Hold: hold, Warmup: 50 * time.Millisecond, Window: 2 * time.Second}
				var errors []float64
				for i := 0; b.Loop(); i++ {
					r, err := Measure(b.Context(), instruments(), Job{Lock: good, Workload: w, Seed: uint64(i)})
					if err != nil {
						b.Fatal(err)
					}
					service := r.Hold.Mean()
					load := float64(r.Open.Offered) / float64(r.Open.Span) * service
					for _, q := range []float64{0.5, 0.9, 0.99} {
						got, want := r.Wait.Quantile(q)/service, s.quantile(min(load, 0.99), q)
						errors = append(errors, 100*(got-want)/max(want, 1))
					}
					if i == 0 {
						b.Logf("a hold takes %.1f µs, the load is %.3f, requests began %.0f ns late (p99 %.0f ns)", service/1e3, load, r.Open.Lag50, r.Open.Lag99)
					}
				}
				for k, name := range []string{"p50-error-%", "p90-error-%", "p99-error-%"} {
					var of []float64
					for i := k; i < len(errors); i += 3 {
						of = append(of, errors[i])
					}
					b.ReportMetric(stat.Median(of), name)
				}
			})
		}
	}
}
