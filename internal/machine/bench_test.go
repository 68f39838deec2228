package machine

import (
	"testing"
	"time"
)

// BenchmarkCalls times the calls whose comments give their costs.
func BenchmarkCalls(b *testing.B) {
	c, r, a := Clock{Period: 0.4}, NewRandom(1), NewAlarm()
	defer a.Close()
	var total int64
	for name, call := range map[string]func(){
		"Nanoseconds": func() { total += c.Nanoseconds(uint64(b.N) + uint64(total)) },
		"Uint64":      func() { r.Uint64() },
		"Exp":         func() { r.Exp(100) },
		"ThreadUsage": func() { ThreadUsage() },
		"Alarm":       func() { a.Sleep(200 * time.Microsecond) },
		"Timer":       func() { time.Sleep(200 * time.Microsecond) },
	} {
		b.Run("call="+name, func(b *testing.B) {
			for b.Loop() {
				call()
			}
		})
	}
}
