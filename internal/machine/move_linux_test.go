package machine

import (
	"fmt"
	"runtime"
	"testing"

	"locklab/internal/stat"
)

// BenchmarkMove measures moveCost: the median extra time of work after a move.
func BenchmarkMove(b *testing.B) {
	cpus, c := CPUOrder(), Calibrate()
	if len(cpus) < 2 {
		b.Skip("one processor: there is nowhere to move to")
	}
	for _, kib := range []int{16, 256, 1024} {
		b.Run(fmt.Sprintf("memory=%dKiB", kib), func(b *testing.B) {
			words, done := make([]uint64, kib<<10/8), make(chan error)
			took := make(map[bool][]float64) // ns, by whether the thread moved
			go func() {                      // its thread ends with it
				runtime.LockOSThread()
				var err error
				for i := 0; b.Loop() && err == nil; i++ {
					for range 5 {
						touchWords(words) // is at home here
					}
					err = PinThread(cpus[i/2%2])
					start := c.Now()
					touchWords(words)
					took[i%2 == 0] = append(took[i%2 == 0], float64(c.Nanoseconds(c.Now()-start)))
				}
				done <- err
			}()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(stat.Median(took[false]), "stay-ns")
			b.ReportMetric(stat.Median(took[true])-stat.Median(took[false]), "move-ns")
		})
	}
}

func touchWords(words []uint64) {
	for i := 0; i < len(words); i += 8 {
		words[i]++
	}
}
