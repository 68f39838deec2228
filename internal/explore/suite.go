//go:build systematic

package explore

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/harness"
)

// A Plan is how a lock is used, and how far the schedules are explored.
type Plan struct {
	Use    Use
	Limits Limits
	Long   bool // left out by go test -short
}

// Plans have two workers that acquire twice, so that one acquisition meets the remains of another.
// They also have three workers, so that one is in the middle of a queue. Waiters poll, or they
// sleep if the lock can wake them. In the last plan a worker acquires again, and another sleeps
// behind it, before its previous successor is awake.
var Plans = []Plan{
	{Use: Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause}, Limits: Limits{Preemptions: 3, Reorderings: 2}},
	{Use: Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPark}, Limits: Limits{Preemptions: 3, Reorderings: 2}},
	{Use: Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause, Try: true}, Limits: Limits{Preemptions: 3, Reorderings: 1}},
	{Use: Use{Acquisitions: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, Limits: Limits{Preemptions: 3, Reorderings: 1}},
	{Use: Use{Acquisitions: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, Limits: Limits{Preemptions: 3, Reorderings: 1}},
	{Use: Use{Acquisitions: []int{2, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, Limits: Limits{Preemptions: 2, Reorderings: 1}, Long: true},
	{Use: Use{Acquisitions: []int{2, 2, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, Limits: Limits{Preemptions: 2, Reorderings: 1}},
}

// A Suite is the locks of a package and their special cases.
type Suite struct {
	Locks []*harness.Variant

	// Unexplored maps each excluded lock to the reason: it blocks in something other than an
	// atomics.Parker, or depends on time.
	Unexplored map[string]string

	// More are further plans for a lock by name.
	More map[string][]Plan
}

// Run explores every lock by every plan it has workers for. A lock with status Broken must fail.
func (s Suite) Run(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(s.Unexplored)) {
		if s.Unexplored[name] == "" || !slices.ContainsFunc(s.Locks, func(v *harness.Variant) bool { return v.Name == name }) {
			t.Errorf("%q is no lock of the suite, or there is no reason to leave it out", name)
		}
	}
	for _, v := range s.Locks {
		t.Run(v.Name, func(t *testing.T) {
			if why, ok := s.Unexplored[v.Name]; ok {
				t.Skip("not explored: " + why)
			}
			if err := s.explore(t, v); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s Suite) explore(t *testing.T, v *harness.Variant) error {
	for _, p := range slices.Concat(Plans, s.More[v.Name]) {
		if most := v.Traits.MaxWorkers; most > 0 && len(p.Use.Acquisitions) > most || p.Long && testing.Short() {
			continue
		}
		start := time.Now()
		r := Explore(Lock(v, p.Use), p.Limits)
		t.Logf("acquisitions %v, wait=%v, try=%t, %d preemptions, %d reorderings: %d schedules, %d states, %v",
			p.Use.Acquisitions, p.Use.Wait, p.Use.Try, p.Limits.Preemptions, p.Limits.Reorderings,
			r.Schedules, r.States, time.Since(start).Round(time.Millisecond))
		switch {
		case r.Failure != nil && v.Status == harness.Broken:
			return nil
		case r.Failure != nil:
			return r.Failure
		}
	}
	if v.Status == harness.Broken {
		return fmt.Errorf("%s is declared broken, and passes: give the reason in Unexplored", v.Name)
	}
	return nil
}

// ErrRead means that an optimistic reader accepted an inconsistent value.
var ErrRead = errors.New("explore: a reader saw half of a write")

// A Use is how a lock is used by the workers of a program.
type Use struct {
	Acquisitions []int              // how often each worker takes the lock
	Wait         harness.WaitPolicy // how it waits
	Nodes        []int              // where the workers are, see harness.Setup
	// Try makes every second acquisition a TryLock, if the lock has it.
	Try bool
}

// Lock returns a program in which workers repeatedly take a lock of variant v. It checks the claims
// of v: exclusion or the number of permits, order of arrival, and that every worker gets the
// lock. If v supports readers, every second acquisition is a reader's.
func Lock(v *harness.Variant, u Use) func() Program {
	return func() Program {
		l := v.Local(harness.Setup{Workers: len(u.Acquisitions), Wait: u.Wait, Nodes: u.Nodes})
		var data [2]atomics.Uint64
		p := Program{
			Shared:  l,
			Permits: v.Traits.Permits,
			FIFO:    v.Traits.FIFO && !v.Traits.ReadWrite,
		}
		for i, times := range u.Acquisitions {
			c := client{handle: l.Worker(i), data: &data}
			p.Workers = append(p.Workers, func(w *Worker) {
				for k := range times {
					c.use(w, k+i, u.Try)
				}
			})
		}
		return p
	}
}

type client struct {
	handle sync.Locker
	data   *[2]atomics.Uint64 // both the same, if a reader is to see them
}

func (c *client) use(w *Worker, k int, try bool) {
	odd := k%2 == 1
	lock, enter, unlock := c.handle.Lock, w.Enter, c.handle.Unlock
	rw, shares := c.handle.(harness.RWLocker)
	optimist, optimistic := c.handle.(harness.OptimisticReader)
	trier, tries := c.handle.(harness.TryLocker)
	switch {
	case odd && shares:
		lock, enter, unlock = rw.RLock, w.EnterShared, rw.RUnlock
	case odd && optimistic:
		c.read(w, optimist)
		return
	}
	if odd && tries && try && !shares {
		if !trier.TryLock() {
			return
		}
	} else {
		w.Asks()
		lock()
	}
	enter()
	if optimistic {
		next := c.data[0].Load() + 1
		c.data[0].StoreRelease(next)
		c.data[1].StoreRelease(next)
	}
	w.Leave()
	unlock()
}

func (c *client) read(w *Worker, h harness.OptimisticReader) {
	for {
		version := h.ReadBegin()
		a, b := c.data[0].Load(), c.data[1].Load()
		if h.ReadRetry(version) {
			continue
		}
		if a != b {
			w.Fail(fmt.Errorf("%w: worker %d read %d and %d", ErrRead, w.id, a, b))
		}
		return
	}
}

// The trace of a livelock is long: only its beginning and end are printed.
const (
	traceHead = 100
	traceTail = 20
)

// A line is an operation or, if it has a text, something else.
type line struct {
	worker        int
	text          string
	access        atomics.Access
	before, after uint64
}

func (r *run) note(w *Worker, a atomics.Access, before, after uint64) {
	if r.traced && w.out == 0 {
		r.lines = append(r.lines, line{worker: w.id, access: a, before: before, after: after})
	}
}

func (r *run) noteText(w *Worker, text string) {
	if r.traced {
		r.lines = append(r.lines, line{worker: w.id, text: text})
	}
}

// opFlush is a StoreRelease that becomes visible.
const opFlush atomics.Op = 201

func (r *run) noteFlush(w *Worker, e entry) {
	if r.traced && w.late {
		cell := r.memory.cells[e.cell].word
		r.lines = append(r.lines, line{worker: w.id, access: atomics.Access{Op: opFlush, Word: cell}, before: cell.Get(), after: e.value})
	}
}

// text writes the trace, with the names that the words have in the program.
func (r *run) text() string {
	var b strings.Builder
	words := wordNames(r)
	for i, l := range r.lines {
		if cut := len(r.lines) - traceTail; i >= traceHead && i < cut {
			if i == traceHead {
				fmt.Fprintf(&b, "      %d lines are left out here\n", cut-i)
			}
			continue
		}
		text := l.text
		if text == "" {
			text = l.operation(words)
		}
		fmt.Fprintf(&b, "%4d  worker %d  %s\n", i+1, l.worker, text)
	}
	for _, w := range r.workers {
		if text := w.position(words); text != "" {
			fmt.Fprintf(&b, "      worker %d  %s\n", w.id, text)
		}
	}
	return b.String()
}

func (l line) operation(words map[atomics.Word]string) string {
	a := l.access
	name := words[a.Word]
	switch a.Op {
	case atomics.OpSpin:
		return "waits: SpinHint"
	case opLeave:
		return "leaves"
	case opFlush:
		return fmt.Sprintf("%s = %d is visible now, was %d", name, l.after, l.before)
	case atomics.OpLoad:
		return fmt.Sprintf("%s.Load() = %d", name, l.before)
	case atomics.OpStoreRelease:
		return fmt.Sprintf("%s.StoreRelease(%d)", name, a.New)
	case atomics.OpCompareAndSwap:
		return fmt.Sprintf("%s.CompareAndSwap(%d, %d) = %t, was %d", name, a.Old, a.New, l.before == a.Old, l.before)
	case atomics.OpSwap:
		return fmt.Sprintf("%s.Swap(%d) = %d", name, a.New, l.before)
	case atomics.OpAdd:
		return fmt.Sprintf("%s.Add(%d) = %d", name, int64(l.after-l.before), l.after)
	case atomics.OpStore:
		return fmt.Sprintf("%s.Store(%d), was %d", name, a.New, l.before)
	}
	return fmt.Sprintf("%s.%v, %d to %d", name, a.Op, l.before, l.after)
}

// position describes what w waits for or does next, or returns "" if it has returned.
func (w *Worker) position(words map[atomics.Word]string) string {
	text := ""
	switch name := words[w.pending.Word]; {
	case w.done:
	case w.waits:
		text = "waits"
		for i, l := range w.observed {
			text += fmt.Sprintf("%s %s", map[bool]string{true: " for", false: ","}[i == 0], words[w.run.memory.cells[l.cell].word])
		}
	case w.pending.Op == atomics.OpAcquire:
		text = "sleeps on " + name
	case w.pending.Op == opLeave:
		text = "is inside"
	default:
		text = fmt.Sprintf("is before %s.%v", name, w.pending.Op)
	}
	for _, e := range w.buffer {
		text += fmt.Sprintf("; %s = %d is not yet visible", words[w.run.memory.cells[e.cell].word], e.value)
	}
	return text
}

// wordNames names the touched words after their fields, or else after the order of first access.
func wordNames(r *run) map[atomics.Word]string {
	found := make(map[uintptr]string)
	if r.program.Shared != nil {
		(&namer{found: found, seen: make(map[uintptr]bool)}).walk(reflect.ValueOf(r.program.Shared), "")
	}
	words := make(map[atomics.Word]string)
	for i, c := range r.memory.cells {
		name, ok := found[c.word.Address()]
		if !ok {
			name = fmt.Sprintf("word%d", i)
		}
		words[c.word] = name
	}
	return words
}

// A namer finds the words in a value.
type namer struct {
	found map[uintptr]string
	seen  map[uintptr]bool // pointers
}

func (n *namer) walk(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			n.walk(v.Elem(), path)
		}
	case reflect.Pointer:
		if !v.IsNil() && !n.seen[v.Pointer()] {
			n.seen[v.Pointer()] = true
			n.walk(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Struct:
		if v.CanAddr() && isWord(v.Type()) {
			if _, ok := n.found[v.UnsafeAddr()]; !ok {
				n.found[v.UnsafeAddr()] = strings.TrimPrefix(path, ".")
			}
			return
		}
		if v.NumField() == 1 && v.Field(0).Kind() == reflect.Interface { // an adapter
			n.walk(v.Field(0), path)
			return
		}
		for i := range v.NumField() {
			n.walk(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	}
}

func isWord(t reflect.Type) bool {
	return t == reflect.TypeFor[atomics.Uint32]() || t == reflect.TypeFor[atomics.Uint64]() || t == reflect.TypeFor[atomic.Uint32]()
}
