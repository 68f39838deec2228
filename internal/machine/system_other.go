//go:build !linux

package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"time"
)

func affinity() []int { return nil }

// PinThread returns an error that wraps errors.ErrUnsupported.
func PinThread(cpu int) error {
	return fmt.Errorf("machine: cannot bind a thread to processor %d on %s: %w", cpu, runtime.GOOS, errors.ErrUnsupported)
}

// ThreadUsage returns false: the usage of a thread is unknown.
func ThreadUsage() (Usage, bool) { return Usage{}, false }

// ProcessCPU returns false: the CPU time of another process is unknown.
func ProcessCPU(int) (time.Duration, bool) { return 0, false }

func threadsWant(fs.FS, int) bool { return false }

// MaxFiles returns no limit: it is unknown.
func MaxFiles() int { return math.MaxInt }

// Monotonic reads the wall clock, in ns: the same for every process, but it may be set.
func Monotonic() int64 { return time.Now().UnixNano() }

// An Alarm lets a goroutine sleep for less than a millisecond. On this system it does not sleep.
type Alarm struct{}

// NewAlarm returns nil.
func NewAlarm() *Alarm { return nil }

// Sleep reports that it did not sleep.
func (*Alarm) Sleep(time.Duration) bool { return false }

// Close does nothing.
func (*Alarm) Close() {}
