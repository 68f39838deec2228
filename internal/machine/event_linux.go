package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ProbeEvents counts each event for a moment and reports which can be counted.
func ProbeEvents() []EventStatus {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := OpenCounters()
	defer c.Close()
	Do(10_000) // a hypervisor may offer a counter that never counts
	var all []EventStatus
	for _, n := range c.Read() {
		all = append(all, EventStatus{Event: n.Event, Reason: n.Reason, UserOnly: n.UserOnly})
	}
	return all
}

// OpenCounters starts counting the events of the calling thread, which runtime.LockOSThread
// holds, with perf_event_open(2). An event that cannot be counted carries its reason. To open
// and to close takes part of a millisecond; to read takes 1 µs for each event.
func OpenCounters() Counters {
	var c Counters
	for _, e := range events {
		c = append(c, openEvent(e))
	}
	return c
}

func openEvent(e event) opened {
	o := opened{count: Count{Event: e.name}}
	attr := unix.PerfEventAttr{
		Type: e.kind, Size: unix.PERF_ATTR_SIZE_VER0, Config: e.number,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	var err error
	o.file, err = openFile(&attr)
	if forbidden(err) && e.mode != kernelMode {
		attr.Bits |= unix.PerfBitExcludeKernel // every process may count user mode
		o.file, err = openFile(&attr)
		o.count.UserOnly = err == nil && e.mode == anyMode
	}
	if err != nil {
		o.count.Reason = whyNot(e, err, readText(hostFS(), "proc/sys/kernel/perf_event_paranoid"))
	}
	return o
}

func openFile(attr *unix.PerfEventAttr) (int, error) {
	const thisThread, anyCPU, noGroup = 0, -1, -1
	return unix.PerfEventOpen(attr, thisThread, anyCPU, noGroup, unix.PERF_FLAG_FD_CLOEXEC)
}

func forbidden(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

func whyNot(e event, err error, paranoid string) string {
	switch {
	case errors.Is(err, unix.ENOENT) && e.kind == hardware:
		return "the kernel offers no counters of this processor, as in most guests"
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL):
		return "this kernel does not know the event"
	case errors.Is(err, unix.EOPNOTSUPP):
		return "this processor does not count it"
	case errors.Is(err, unix.ENOSYS):
		return "this kernel has no perf events"
	case errors.Is(err, unix.EBUSY):
		return "another program has the counters of the processor for itself"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "too many open files: raise the limit by ulimit -n"
	case forbidden(err):
		allowed := 2 // the strictest at which a process may count itself
		if e.mode == kernelMode {
			allowed = 1
		}
		if level, bad := strconv.Atoi(paranoid); bad == nil && level > allowed {
			return fmt.Sprintf("kernel.perf_event_paranoid is %d: run sudo sysctl kernel.perf_event_paranoid=%d", level, allowed)
		}
		return "forbidden, perhaps by the container: give it the capability PERFMON and a seccomp profile that allows perf_event_open"
	}
	return err.Error()
}

// Read returns the counts since OpenCounters, in the order of [EventNames]; see [Count.Sub].
func (c Counters) Read() []Count {
	counts := make([]Count, len(c))
	for i, o := range c {
		counts[i] = o.read()
	}
	return counts
}

func (o opened) read() Count {
	c := o.count
	if c.Reason != "" {
		return c
	}
	var b [24]byte
	if n, err := unix.Read(o.file, b[:]); err != nil || n != len(b) {
		c.Reason = fmt.Sprintf("cannot be read: %d bytes, error %v", n, err)
		return c
	}
	c.Raw = binary.NativeEndian.Uint64(b[0:])
	c.Enabled = time.Duration(binary.NativeEndian.Uint64(b[8:]))
	c.Running = time.Duration(binary.NativeEndian.Uint64(b[16:]))
	if c.Enabled > 0 && c.Running == 0 {
		c.Reason = "no counter of the processor was free for it"
	}
	return c
}

// Close ends the counting.
func (c Counters) Close() error {
	var errs []error
	for i := range c {
		if c[i].count.Reason == "" {
			errs = append(errs, unix.Close(c[i].file))
			c[i].count.Reason = "closed"
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("machine: cannot close a counter: %w", err)
	}
	return nil
}
