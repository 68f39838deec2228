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
	b.Run("socket", func(b *testing.B) { benchmarkMove(b, near[:2], pingPong(b)) })
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

// pingPong returns a function that sends a message to another thread and waits for the answer, by
// system calls only, like a server's client.
func pingPong(b *testing.B) func() {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: the thread ends with its goroutine
		message := make([]byte, 64)
		for {
			n, err := unix.Read(ends[1], message)
			if n <= 0 || err != nil {
				return
			}
			if _, err := unix.Write(ends[1], message[:n]); err != nil {
				return
			}
		}
	}()
	b.Cleanup(func() {
		unix.Close(ends[0])
		<-done
		unix.Close(ends[1])
	})
	message := make([]byte, 64)
	return func() {
		if _, err := unix.Write(ends[0], message); err != nil {
			b.Fatal(err)
		}
		if _, err := unix.Read(ends[0], message); err != nil {
			b.Fatal(err)
		}
	}
}
