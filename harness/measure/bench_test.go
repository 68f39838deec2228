package measure

import (
	"testing"

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
