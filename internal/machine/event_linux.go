package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ProbeEvents counts each event for a moment and reports which can be counted.
func ProbeEvents() []EventStatus {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := OpenCounters(ThisThread)
	defer c.Close()
	Do(10_000) // a hypervisor may offer a counter that never counts
	var all []EventStatus
	for _, n := range c.Read() {
		all = append(all, EventStatus{Event: n.Event, Reason: n.Reason, UserOnly: n.UserOnly})
	}
	return all
}

func (c *Counters) open() {
	threads := []int{0} // the calling thread
	if c.scope == WholeProcess {
		threads = allThreads()
	}
	for _, e := range events {
		c.counts = append(c.counts, openEvent(e, threads, c.scope == WholeProcess))
	}
}

func allThreads() []int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return []int{0}
	}
	var threads []int
	for _, entry := range entries {
		if tid, err := strconv.Atoi(entry.Name()); err == nil {
			threads = append(threads, tid)
		}
	}
	return threads
}

func openEvent(e event, threads []int, inherit bool) opened {
	o := opened{count: Count{Event: e.name}}
	attr := unix.PerfEventAttr{
		Type: e.kind, Size: unix.PERF_ATTR_SIZE_VER0, Config: e.number,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	if inherit {
		attr.Bits |= unix.PerfBitInherit
	}
	for _, tid := range threads {
		fd, err := openFile(&attr, tid)
		if forbidden(err) && e.mode != kernelMode && attr.Bits&unix.PerfBitExcludeKernel == 0 && len(o.files) == 0 {
			attr.Bits |= unix.PerfBitExcludeKernel // every process may count user mode
			fd, err = openFile(&attr, tid)
			o.count.UserOnly = err == nil && e.mode == anyMode
		}
		if errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			o.count.Reason = whyNot(e, err, readText(hostFS(), "proc/sys/kernel/perf_event_paranoid"))
			_ = o.closeFiles()
			return o
		}
		o.files = append(o.files, fd)
	}
	return o
}

func openFile(attr *unix.PerfEventAttr, tid int) (int, error) {
	const anyCPU, noGroup = -1, -1
	return unix.PerfEventOpen(attr, tid, anyCPU, noGroup, unix.PERF_FLAG_FD_CLOEXEC)
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

func (o opened) read() Count {
	c := o.count
	for _, fd := range o.files {
		var b [24]byte
		if n, err := unix.Read(fd, b[:]); err != nil || n != len(b) {
			c.Reason = fmt.Sprintf("cannot be read: %d bytes, error %v", n, err)
			return c
		}
		c.Raw += binary.NativeEndian.Uint64(b[0:])
		c.Enabled += time.Duration(binary.NativeEndian.Uint64(b[8:]))
		c.Running += time.Duration(binary.NativeEndian.Uint64(b[16:]))
	}
	if c.Reason == "" && c.Enabled > 0 && c.Running == 0 {
		c.Reason = "no counter of the processor was free for it"
	}
	return c
}

func (c *Counters) close() error {
	var errs []error
	for i := range c.counts {
		errs = append(errs, c.counts[i].closeFiles())
		if c.counts[i].count.Reason == "" {
			c.counts[i].count.Reason = "closed"
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("machine: cannot close a counter: %w", err)
	}
	return nil
}

func (o *opened) closeFiles() error {
	var errs []error
	for _, fd := range o.files {
		errs = append(errs, unix.Close(fd))
	}
	o.files = nil
	return errors.Join(errs...)
}
