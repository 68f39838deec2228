package runner

import (
	"locklab/harness/stat"
	"testing"
)

// BenchmarkOverhead prints what the loop costs: bare, what the owner log adds,
// and what timing adds to a timed acquisition; and an acquisition of a free
// lock called directly and through sync.Locker.
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

// BenchmarkTransfers prints what the probe around a window costs and finds.
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

// BenchmarkInstruments is what a measuring process spends before it sets up its
// lock, alone and with what its parent tells it.
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
