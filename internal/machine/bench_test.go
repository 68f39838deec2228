package machine

import "testing"

func BenchmarkNanoseconds(b *testing.B) {
	c := newClock(2.5e9)
	var total int64
	for b.Loop() {
		total += c.Nanoseconds(uint64(b.N) + uint64(total))
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

func BenchmarkThreadUsage(b *testing.B) {
	for b.Loop() {
		ThreadUsage()
	}
}
