package locktest

import (
	"runtime"
	"sync"
	"sync/atomic"

	"locklab/harness"
)

// brokenReaders are locks with readers, each with one mistake.
var brokenReaders = readers([]breakage{
	{name: "reader-walks-in", rule: "read-exclusion", local: newRW(rwFaults{noEntry: true})},
	{name: "writer-walks-in", rule: "read-exclusion", local: newRW(rwFaults{noWait: true})},
	{name: "reader-looks-too-early", rule: "read-exclusion", chance: true, local: newRW(rwFaults{lateCount: true})},
	{name: "reader-walks-in", rule: "read-snapshot", chance: true, local: newRW(rwFaults{noEntry: true})},
	{name: "writer-walks-in", rule: "read-snapshot", chance: true, local: newRW(rwFaults{noWait: true})},
	{name: "reader-walks-in", rule: "preemption", chance: true, local: newRW(rwFaults{noEntry: true})},
	{name: "readers-exclude", rule: "readers-share", stuck: true, local: newRW(rwFaults{exclusive: true})},
	{name: "readers-first", rule: "writer-progress", chance: true, stuck: true, local: newRW(rwFaults{})},

	{name: "never-again", rule: "read-snapshot", local: newSeq(seqFaults{never: true})},
	{name: "always-again", rule: "read-snapshot", local: newSeq(seqFaults{always: true})},
	{name: "counts-at-the-end", rule: "read-snapshot", local: newSeq(seqFaults{late: true})},
	{name: "begins-inside", rule: "read-snapshot", chance: true, local: newSeq(seqFaults{inside: true})},
}...)

// readers adds the claim.
func readers(bs ...breakage) []breakage {
	for i := range bs {
		bs[i].traits.ReadWrite = true
	}
	return bs
}

// rwFaults are mistakes of a lock that counts its readers. Without any it is
// correct but for one thing: readers go first.
type rwFaults struct {
	noEntry   bool // RLock does not look for a writer
	noWait    bool // Lock does not look for readers
	lateCount bool // RLock looks first and counts then
	exclusive bool // RLock is Lock
}

// A counting is a readers-writer lock: a counter of readers, and a bit for the
// writer.
type counting struct {
	rwFaults
	q     *quitter
	state atomic.Int64 // readers, and countingWriter
}

const countingWriter = 1 << 32

func newRW(f rwFaults) func(*quitter, int) harness.Local {
	return shared(func(q *quitter) sync.Locker { return &counting{q: q, rwFaults: f} })
}

func (l *counting) Lock() {
	for {
		s := l.state.Load()
		if s&countingWriter == 0 && (l.noWait || s == 0) && l.state.CompareAndSwap(s, s+countingWriter) {
			return
		}
		l.q.wait()
	}
}

func (l *counting) Unlock() { l.state.Add(-countingWriter) }

func (l *counting) RLock() {
	if l.exclusive {
		l.Lock()
		return
	}
	for {
		s := l.state.Load()
		switch {
		case l.noEntry, l.lateCount && s&countingWriter == 0:
			runtime.Gosched()
			l.state.Add(1)
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
	l.state.Add(-1)
}

// seqFaults are mistakes of a sequence lock.
type seqFaults struct {
	never  bool // ReadRetry always says no
	always bool // ReadRetry always says yes
	late   bool // the version changes only when the writer leaves
	inside bool // ReadBegin does not wait for a writer, and ReadRetry believes it
}

// A sequence is a sequence lock.
type sequence struct {
	seqFaults
	brokenTAS // writers
	version   atomic.Uint64
}

func newSeq(f seqFaults) func(*quitter, int) harness.Local {
	return shared(func(q *quitter) sync.Locker { return &sequence{seqFaults: f, brokenTAS: brokenTAS{q: q}} })
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
	return !l.never && (l.always || l.version.Load() != v)
}
