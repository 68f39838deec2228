package locktest

import (
	"runtime"
	"sync"
	"sync/atomic"

	"locklab/harness"
)

var brokenReaders = readers([]breakage{
	{name: "reader-walks-in", rule: "read-exclusion", local: newRW(rwFaults{noEntry: true})},
	{name: "writer-walks-in", rule: "read-exclusion", local: newRW(rwFaults{noWait: true})},
	{name: "try-checks-too-early", rule: "try", chance: true, local: newRW(rwFaults{lateTry: true})},
	{name: "reader-checks-too-early", rule: "read-exclusion", chance: true, local: newRW(rwFaults{lateCount: true})},
	{name: "reader-walks-in", rule: "read-snapshot", chance: true, local: newRW(rwFaults{noEntry: true})},
	{name: "writer-walks-in", rule: "read-snapshot", chance: true, local: newRW(rwFaults{noWait: true})},
	{name: "reader-walks-in", rule: "preemption", chance: true, local: newRW(rwFaults{noEntry: true})},
	{name: "readers-exclude", rule: "readers-share", stuck: true, local: newRW(rwFaults{exclusive: true})},
	{name: "readers-first", rule: "writer-progress", chance: true, stuck: true, local: newRW(rwFaults{})},

	{name: "counts-to-three", rule: "read-count", local: newRW(rwFaults{countsTo: 3})},
	{name: "two-bits-of-readers", rule: "read-count", local: newRW(rwFaults{mask: 3})},
	{name: "eight-bits-of-readers", rule: "read-count", local: newRW(rwFaults{mask: 255})},
	{name: "writer-walks-in", rule: "not-reentrant", local: newRW(rwFaults{noWait: true})},
	{name: "reader-walks-in", rule: "not-reentrant", local: newRW(rwFaults{noEntry: true})},
	{name: "readers-wrap-under-writer", rule: "endurance", local: newRW(rwFaults{opensEvery: 1 << 16})},
	{name: "readers-wrap-inside", rule: "endurance", local: newRW(rwFaults{comparesBits: 16})},
	{name: "wakes-eight-readers", rule: "contenders", stuck: true, local: newSleepyRW(rwSleepFaults{most: 8})},
	{name: "loses-racing-readers", rule: "wake-up", stuck: true, chance: true, local: newSleepyRW(rwSleepFaults{racing: true})},

	{name: "version-of-16-bits", rule: "read-snapshot", local: newSeq(seqFaults{mask: 1<<16 - 1})},
	{name: "never-again", rule: "read-snapshot", local: newSeq(seqFaults{never: true})},
	{name: "always-again", rule: "read-snapshot", local: newSeq(seqFaults{always: true})},
	{name: "counts-at-the-end", rule: "read-snapshot", local: newSeq(seqFaults{late: true})},
	{name: "begins-inside", rule: "read-snapshot", chance: true, local: newSeq(seqFaults{inside: true})},
}...)

func readers(bs ...breakage) []breakage {
	for i := range bs {
		bs[i].traits.ReadWrite = true
	}
	return bs
}

// rwFaults are mistakes of a lock that counts its readers, who go first.
type rwFaults struct {
	noEntry   bool // RLock does not check for a writer
	noWait    bool // Lock does not check for readers
	lateCount bool // RLock first checks and then counts
	lateTry   bool // TryLock first checks and then enters
	exclusive bool // RLock is Lock

	countsTo int64 // readers beyond this number are not counted
	mask     int64 // a writer loads these bits of the count only

	opensEvery   uint64 // one reader in this many does not check for a writer
	comparesBits int    // a writer waits while more readers came than left, by this many bits of their counts
}

type counting struct {
	rwFaults
	q          *quitter
	state      atomic.Int64 // readers, and countingWriter
	came, left atomic.Uint64
}

const countingWriter = 1 << 32

func newRW(f rwFaults) func(*quitter, int) harness.Local {
	return shareLock(func(q *quitter) sync.Locker { return &counting{q: q, rwFaults: f} })
}

func (l *counting) Lock() {
	for {
		s := l.state.Load()
		if s&countingWriter == 0 && (l.noWait || s == 0 || l.mask > 0 && s&l.mask == 0 || l.wrapped()) && l.state.CompareAndSwap(s, s+countingWriter) {
			return
		}
		l.q.wait()
	}
}

func (l *counting) TryLock() bool {
	if l.state.Load() != 0 {
		return false
	}
	late := l.state.Load() &^ countingWriter
	return (late == 0 || l.lateTry) && l.state.CompareAndSwap(late, late+countingWriter)
}

func (l *counting) wrapped() bool {
	bits := uint64(1)<<l.comparesBits - 1
	return l.left.Load()&bits > l.came.Load()&bits
}

func (l *counting) Unlock() { l.state.Add(-countingWriter) }

func (l *counting) RLock() {
	if l.exclusive {
		l.Lock()
		return
	}
	number := l.came.Add(1)
	for {
		s := l.state.Load()
		switch {
		case l.opensEvery > 0 && number%l.opensEvery == 0 && s&countingWriter != 0:
			l.state.Add(1)
			return
		case l.noEntry, l.lateCount && s&countingWriter == 0:
			runtime.Gosched()
			l.state.Add(1)
			return
		case l.countsTo > 0 && s == l.countsTo:
			return
		case s&countingWriter == 0 && l.state.CompareAndSwap(s, s+1):
			return
		}
		l.q.wait()
	}
}

func (l *counting) RUnlock() {
	if l.exclusive {
		l.Unlock()
		return
	}
	l.left.Add(1)
	for {
		s := l.state.Load()
		if l.countsTo > 0 && s == 0 || l.state.CompareAndSwap(s, s-1) {
			return
		}
	}
}

type rwSleepFaults struct {
	most   int  // a leaving writer wakes at most this many readers
	racing bool // of two readers that leave together, each relies on the other to wake the writer
}

// A sleepyRW is a lock for readers and writers that sleep. Readers go first.
type sleepyRW struct {
	rwSleepFaults
	q       *quitter
	leaving atomic.Int32

	mu               sync.Mutex // guards the rest
	inside           int        // readers, or -1 for a writer
	readers, writers []chan struct{}
}

func newSleepyRW(f rwSleepFaults) func(*quitter, int) harness.Local {
	return shareLock(func(q *quitter) sync.Locker { return &sleepyRW{q: q, rwSleepFaults: f} })
}

func (l *sleepyRW) Lock()  { l.enter(func() bool { return l.inside == 0 }, -1, &l.writers) }
func (l *sleepyRW) RLock() { l.enter(func() bool { return l.inside >= 0 }, 1, &l.readers) }

func (l *sleepyRW) enter(fits func() bool, more int, queue *[]chan struct{}) {
	l.mu.Lock()
	if fits() {
		l.inside += more
		l.mu.Unlock()
		return
	}
	c := make(chan struct{})
	*queue = append(*queue, c)
	l.mu.Unlock()
	l.q.sleep(c)
}

func (l *sleepyRW) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside = 0
	n := len(l.readers)
	if l.most > 0 {
		n = min(n, l.most)
	}
	for _, c := range l.readers[:n] {
		l.inside++
		close(c)
	}
	l.readers = nil
	l.wakeWriter()
}

func (l *sleepyRW) RUnlock() {
	racing := l.racing && l.leaving.Add(1) > 1
	defer l.leaving.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside--; !racing {
		l.wakeWriter()
	}
}

func (l *sleepyRW) wakeWriter() {
	if l.inside == 0 && len(l.writers) > 0 {
		l.inside = -1
		close(l.writers[0])
		l.writers = l.writers[1:]
	}
}

type seqFaults struct {
	never  bool   // ReadRetry always returns false
	always bool   // ReadRetry always returns true
	late   bool   // the version changes only when the writer leaves
	mask   uint64 // ReadRetry compares these bits of the versions only; 0 is all
	inside bool   // ReadBegin does not wait for a writer, and ReadRetry accepts its version
}

type sequence struct {
	seqFaults
	brokenTAS // writers
	version   atomic.Uint64
}

func newSeq(f seqFaults) func(*quitter, int) harness.Local {
	return shareLock(func(q *quitter) sync.Locker { return &sequence{seqFaults: f, brokenTAS: brokenTAS{q: q}} })
}

func (l *sequence) Lock() {
	l.brokenTAS.Lock()
	if !l.late {
		l.version.Add(1)
	}
}

func (l *sequence) Unlock() {
	if l.late {
		l.version.Add(1)
	}
	l.version.Add(1)
	l.brokenTAS.Unlock()
}

func (l *sequence) ReadBegin() uint64 {
	for {
		if v := l.version.Load(); v%2 == 0 || l.inside {
			return v
		}
		l.q.wait()
	}
}

func (l *sequence) ReadRetry(v uint64) bool {
	mask := l.mask
	if mask == 0 {
		mask--
	}
	return !l.never && (l.always || l.version.Load()&mask != v&mask)
}
