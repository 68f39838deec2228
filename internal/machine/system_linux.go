package machine

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// affinity returns the processors of any thread: the calling and the main one may be pinned.
func affinity() []int {
	threads, _ := os.ReadDir("/proc/self/task") // without it only the calling thread counts
	cpus := threadAffinity(0)
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			cpus = append(cpus, threadAffinity(tid)...)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

func threadAffinity(tid int) []int {
	const most = 8192 // of any Linux
	set := unix.NewCPUSet(most)
	if unix.SchedGetaffinityDynamic(tid, set) != nil {
		return nil // the thread has ended
	}
	var cpus []int
	for cpu := range most {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// PinThread binds the calling thread to one processor, numbered as in [CPUOrder]. The caller must
// have called runtime.LockOSThread and must never unlock: the thread stays bound, so it must end
// with its goroutine. The error wraps errors.ErrUnsupported on systems other than Linux.
func PinThread(cpu int) error {
	if cpu < 0 {
		return fmt.Errorf("machine: there is no processor %d", cpu)
	}
	set := unix.NewCPUSet(cpu + 1)
	set.Set(cpu)
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("machine: cannot bind a thread to processor %d: %w", cpu, err)
	}
	return nil
}

// ThreadUsage returns the usage of the calling thread (getrusage with RUSAGE_THREAD), in about 0.4
// µs; false on systems other than Linux. The caller must have called runtime.LockOSThread;
// otherwise the figures belong to an arbitrary thread.
func ThreadUsage() (Usage, bool) { return usageOf(unix.RUSAGE_THREAD) }

// ProcessCPU returns a process's CPU time over running and ended threads, without the last
// timer tick. It returns false without such a process, and on systems other than Linux. It
// reads the process's clock, by clock_getcpuclockid(3)'s id, without privileges.
func ProcessCPU(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED of linux/posix-timers_types.h, in ns
	var t unix.Timespec
	if pid <= 0 || pid > math.MaxInt32>>3 || unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// threadsWant reports whether a thread of the process, except the calling one, runs, is ready to
// run, or waits for a disk. See proc_pid_stat(5).
func threadsWant(fsys fs.FS, pid int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	threads, err := fs.ReadDir(fsys, fmt.Sprintf("proc/%d/task", pid))
	if err != nil {
		return false
	}
	self := fmt.Sprint(unix.Gettid())
	for _, t := range threads {
		text := readText(fsys, "proc/%d/task/%s/stat", pid, t.Name())
		// The state follows the name, which is in parentheses and may contain any character.
		state := strings.TrimLeft(text[strings.LastIndexByte(text, ')')+1:], " ")
		if t.Name() != self && (strings.HasPrefix(state, "R") || strings.HasPrefix(state, "D")) {
			return true
		}
	}
	return false
}

// MaxFiles returns the greatest number of files that the process may have open.
func MaxFiles() int {
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &most) != nil {
		return math.MaxInt
	}
	return int(min(most.Cur, math.MaxInt))
}

// Monotonic reads CLOCK_MONOTONIC, in ns: the same for every process, and never set.
func Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has it
	}
	return t.Nano()
}

// An Alarm lets one goroutine at a time sleep for less than a millisecond. In an idle process
// a Go timer fires up to 1 ms late, because epoll_wait counts in milliseconds; a kernel timer
// fires within tens of microseconds. The nil Alarm does not sleep.
type Alarm struct {
	file *os.File
	raw  interface{ Control(func(uintptr)) error }
	buf  [8]byte
}

// NewAlarm returns an alarm, or nil if the system offers none.
func NewAlarm() *Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	a := &Alarm{file: os.NewFile(uintptr(fd), "alarm")}
	if a.raw, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return nil
	}
	return a
}

// Sleep sleeps for d > 0 and reports whether it did.
func (a *Alarm) Sleep(d time.Duration) bool {
	if a == nil {
		return false
	}
	var set error
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(1, d)))}
	if err := a.raw.Control(func(fd uintptr) { set = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); err != nil || set != nil {
		return false
	}
	_, err := a.file.Read(a.buf[:])
	return err == nil
}

// Close releases the alarm. No goroutine may call Sleep afterwards.
func (a *Alarm) Close() {
	if a != nil {
		a.file.Close()
	}
}
