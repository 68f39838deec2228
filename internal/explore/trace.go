//go:build systematic

package explore

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"locklab/atomics"
)

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
		if text := w.standing(words); text != "" {
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
		return fmt.Sprintf("%s.Add(%d) = %d", name, int32(uint32(a.New)), l.after)
	case atomics.OpStore:
		return fmt.Sprintf("%s.Store(%d), was %d", name, a.New, l.before)
	}
	return fmt.Sprintf("%s.%v, %d to %d", name, a.Op, l.before, l.after)
}

// standing describes the position of a worker that has not returned.
func (w *Worker) standing(words map[atomics.Word]string) string {
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
	switch t {
	case reflect.TypeFor[atomics.Uint32](), reflect.TypeFor[atomics.Uint64](), reflect.TypeFor[atomic.Uint32]():
		return true
	}
	return false
}
