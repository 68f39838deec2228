package machine

import (
	"fmt"
	"testing"
)

func BenchmarkClockPair(b *testing.B) {
	c := Calibrate()
	var total int64
	for b.Loop() {
		start := c.Now()
		total += c.Nanoseconds(c.Now() - start)
	}
	b.ReportMetric(c.Floor(), "floor-ns")
	b.ReportMetric(c.Step(), "step-ns")
	_ = total
}

func BenchmarkNanoseconds(b *testing.B) {
	c := newClock(2.5e9)
	var total int64
	for b.Loop() {
		total += c.Nanoseconds(uint64(b.N) + uint64(total))
	}
}

func BenchmarkDo(b *testing.B) {
	for _, n := range []int{0, 1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("iterations=%d", n), func(b *testing.B) {
			for b.Loop() {
				Do(n)
			}
		})
	}
}

func BenchmarkRandom(b *testing.B) {
	b.Run("Uint64", func(b *testing.B) {
		r := NewRandom(1)
		for b.Loop() {
			r.Uint64()
		}
	})
	b.Run("Exp", func(b *testing.B) {
		r := NewRandom(1)
		for b.Loop() {
			r.Exp(100)
		}
	})
}

func BenchmarkMeasureSkew(b *testing.B) {
	c := Calibrate()
	for b.Loop() {
		MeasureSkew(c)
	}
}

func BenchmarkThreadUsage(b *testing.B) {
	for b.Loop() {
		ThreadUsage()
	}
}
