//go:build linux

// Outside is a program of another module that uses the locks by their types, as a
// user's does. It measures on demand, by the protocol of internal/twin, so that a
// benchmark can set it beside the same program in C: an operation is one
// acquisition with its release, in a section that increments a plain counter.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"locklab/spinlock"
)

// batch is how many acquisitions pass between two checks for the end of a run, in
// C too.
const batch = 64

// A run is one measurement.
type run struct {
	_       [128]byte
	counter uint64 // guarded by the lock
	_       [128]byte
	phase   atomic.Uint32 // wait, begin, stop
	_       [128]byte
	threads []thread
}

const (
	wait = iota
	begin
	stop
)

type thread struct {
	batches  int64
	from, to time.Time
	err      error
	_        [128]byte
}

// more reports whether thread i goes on, and counts its batch: one at least.
func (r *run) more(i int) bool {
	t := &r.threads[i]
	if t.batches > 0 && r.phase.Load() == stop {
		return false
	}
	t.batches++
	return true
}

// cases make a lock and return what each thread does. The loops are written out for
// each type: what is measured is the lock, called directly.
var cases = []struct {
	name string
	lock func(threads int, o spinlock.Options) func(r *run, i int)
}{
	{"tas", func(_ int, o spinlock.Options) func(*run, int) {
		l := &spinlock.TAS{Wait: o.Wait, Pin: o.Pin}
		return func(r *run, i int) {
			for r.more(i) {
				for range batch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
	{"ttas", func(_ int, o spinlock.Options) func(*run, int) {
		l := &spinlock.TTAS{Wait: o.Wait, Pin: o.Pin}
		return func(r *run, i int) {
			for r.more(i) {
				for range batch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
	{"ticket", func(threads int, o spinlock.Options) func(*run, int) {
		l := spinlock.NewTicket(threads, o)
		return func(r *run, i int) {
			for r.more(i) {
				for range batch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
	{"mcs", func(threads int, o spinlock.Options) func(*run, int) {
		l := spinlock.NewMCS(threads, o)
		return func(r *run, i int) {
			for h := l.Worker(i); r.more(i); {
				for range batch {
					h.Lock()
					r.counter++
					h.Unlock()
				}
			}
		}
	}},
	{"clh", func(threads int, o spinlock.Options) func(*run, int) {
		l := spinlock.NewCLH(threads, o)
		return func(r *run, i int) {
			for h := l.Worker(i); r.more(i); {
				for range batch {
					h.Lock()
					r.counter++
					h.Unlock()
				}
			}
		}
	}},
	{"sync-mutex", func(int, spinlock.Options) func(*run, int) {
		l := new(sync.Mutex)
		return func(r *run, i int) {
			for r.more(i) {
				for range batch {
					l.Lock()
					r.counter++
					l.Unlock()
				}
			}
		}
	}},
}

// measure runs a case with a thread on each of cpus.
func measure(name string, cpus []int, span time.Duration) (string, error) {
	for _, c := range cases {
		if c.name != name {
			continue
		}
		// The runtime needs a place for the thread that ends the run.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(cpus) + 1))
		r := &run{threads: make([]thread, len(cpus))}
		r.drive(cpus, span, c.lock(len(cpus), spinlock.Options{Pin: spinlock.PinCPU}))
		return r.answer()
	}
	return "", fmt.Errorf("there is no case %s", name)
}

func (r *run) drive(cpus []int, span time.Duration, work func(*run, int)) {
	var ready, done sync.WaitGroup
	ready.Add(len(cpus))
	for i, cpu := range cpus {
		t := &r.threads[i]
		done.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			t.err = pin(cpu)
			ready.Done()
			for r.phase.Load() == wait {
				runtime.Gosched()
			}
			t.from = time.Now()
			counted(r, work, i)
			t.to = time.Now()
		})
	}
	ready.Wait()
	r.phase.Store(begin)
	time.Sleep(span)
	r.phase.Store(stop)
	done.Wait()
}

// answer is the time and how many operations each thread did.
func (r *run) answer() (string, error) {
	var ops int64
	var each strings.Builder
	from, to := r.threads[0].from, r.threads[0].to
	for _, t := range r.threads {
		if t.err != nil {
			return "", t.err
		}
		ops += batch * t.batches
		fmt.Fprintf(&each, " %d", batch*t.batches)
		if t.from.Before(from) {
			from = t.from
		}
		if t.to.After(to) {
			to = t.to
		}
	}
	if uint64(ops) != r.counter {
		return "", fmt.Errorf("the lock let two threads in: %d increments, counter %d", ops, r.counter)
	}
	return fmt.Sprint(to.Sub(from).Nanoseconds(), each.String()), nil
}

// pin binds the calling thread to cpu.
func pin(cpu int) error {
	var set [128]uint64
	if cpu < 0 || cpu >= 64*len(set) {
		return fmt.Errorf("no CPU %d", cpu)
	}
	set[cpu/64] = 1 << (cpu % 64)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set))); errno != 0 {
		return errno
	}
	return nil
}

// reply answers one command.
func reply(words []string) (string, error) {
	switch {
	case len(words) == 4 && words[0] == "run":
		var cpus []int
		for _, word := range strings.Split(words[2], ",") {
			cpu, err := strconv.Atoi(word)
			if err != nil {
				return "", err
			}
			cpus = append(cpus, cpu)
		}
		ms, err := strconv.Atoi(words[3])
		if err != nil {
			return "", err
		}
		return measure(words[1], cpus, time.Duration(ms)*time.Millisecond)
	}
	return "", errors.New("the only command is run")
}

// counted is the part of a thread's work whose instructions callgrind counts.
//
//go:noinline
func counted(r *run, work func(*run, int), i int) { work(r, i) }

func main() {
	fmt.Print("twin 1 outside")
	for _, c := range cases {
		fmt.Print(" ", c.name)
	}
	fmt.Println()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		text, err := reply(strings.Fields(in.Text()))
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println("ok", text)
	}
}
