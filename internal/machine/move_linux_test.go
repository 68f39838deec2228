package machine

import (
	"fmt"
	"locklab/internal/stat"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkMove measures moveCost: the median extra CPU time of work after a move.
func BenchmarkMove(b *testing.B) {
	near := ReadTopology().CPUs()
	if len(near) < 2 {
		b.Skip("one processor: there is nowhere to move to")
	}
	for _, kib := range []int{16, 256, 1024} {
		words := make([]uint64, kib<<10/8)
		b.Run(fmt.Sprintf("memory=%dKiB", kib), func(b *testing.B) {
			benchmarkMove(b, near[:2], func() {
				for i := 0; i < len(words); i += 8 {
					words[i]++
				}
			})
		})
	}
}

func benchmarkMove(b *testing.B, cpus []int, work func()) {
	defer pinned(b)()
	took := make(map[bool][]float64) // ns, by whether the thread moved
	at := 0
	for i := 0; b.Loop(); i++ {
		for range 5 {
			work() // is at home here
		}
		moves := i%2 == 0
		if moves {
			at = 1 - at
		}
		if err := pinThread(cpus[at]); err != nil {
			b.Fatal(err)
		}
		start := threadTime(b)
		work()
		took[moves] = append(took[moves], float64(threadTime(b)-start))
	}
	b.ReportMetric(stat.Median(took[false]), "stay-ns")
	b.ReportMetric(stat.Median(took[true])-stat.Median(took[false]), "move-ns")
}

func pinned(b *testing.B) (undo func()) {
	var before unix.CPUSet
	runtime.LockOSThread()
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		b.Fatal(err)
	}
	return func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			b.Error(err)
		}
		runtime.UnlockOSThread()
	}
}

func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
