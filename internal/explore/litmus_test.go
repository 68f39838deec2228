//go:build systematic

package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"locklab/atomics"
)

type instruction struct {
	op atomics.Op
	x  int
	v  uint32 // what it stores, swaps in or adds
}

func (in instruction) String() string {
	if in.op == atomics.OpLoad {
		return fmt.Sprintf("%c.Load()", 'x'+in.x)
	}
	return fmt.Sprintf("%c.%v(%d)", 'x'+in.x, in.op, in.v)
}

// A litmus is the instructions of threads; its outcome, their results and the final words.
type litmus [][]instruction

func (l litmus) String() string {
	threads := make([]string, len(l))
	for i, t := range l {
		threads[i] = strings.Trim(fmt.Sprint(t), "[]")
	}
	return strings.Join(threads, " || ")
}

const litmusWords = 3

// explored returns the outcomes that the explorer finds, with known states or without.
func (l litmus) explored(t *testing.T, limits Limits, forget bool) []string {
	t.Helper()
	found := make(map[string]bool)
	e := newExplorer(func() Program {
		var words [litmusWords]atomics.Uint32
		results := make([][]uint32, len(l))
		p := Program{Final: func() error {
			var end [litmusWords]uint32
			for i := range words {
				end[i] = words[i].Load()
			}
			found[fmt.Sprint(results, end)] = true
			return nil
		}}
		for i, thread := range l {
			results[i] = make([]uint32, 0, len(thread))
			p.Workers = append(p.Workers, func(*Worker) {
				for _, in := range thread {
					switch w := &words[in.x]; in.op {
					case atomics.OpLoad:
						results[i] = append(results[i], w.Load())
					case atomics.OpStore:
						w.Store(in.v)
					case atomics.OpStoreRelease:
						w.StoreRelease(in.v)
					case atomics.OpSwap:
						results[i] = append(results[i], w.Swap(in.v))
					}
				}
			})
		}
		return p
	}, limits)
	if !forget {
		e.seen = make(map[uint64]budget)
	}
	r := e.explore()
	if r.Failure != nil {
		t.Fatalf("%v: %v", l, r.Failure)
	}
	return slices.Sorted(maps.Keys(found))
}

// A machine is the state of the reference: total store order as defined by Peter Sewell et al.,
// "x86-TSO: A Rigorous and Usable Programmer's Model for x86 Multiprocessors", CACM 53(7), 2010.
// Any thread may run and any buffer may be flushed at any time.
type machine struct {
	at      []int
	words   [litmusWords]uint32
	buffers [][]instruction
	results [][]uint32
}

func (m machine) clone() machine {
	m.at = slices.Clone(m.at)
	m.buffers = slices.Clone(m.buffers)
	m.results = slices.Clone(m.results)
	return m
}

// reference returns all outcomes under total store order.
func (l litmus) reference() []string {
	found, seen := make(map[string]bool), make(map[string]bool)
	var visit func(machine)
	visit = func(m machine) {
		key := fmt.Sprint(m)
		if seen[key] {
			return
		}
		seen[key] = true
		end := true
		for i, thread := range l {
			if b := m.buffers[i]; len(b) > 0 {
				end = false
				next := m.clone()
				next.words[b[0].x] = b[0].v
				next.buffers[i] = b[1:]
				visit(next)
			}
			if m.at[i] < len(thread) {
				end = false
				if next, ok := m.does(i, thread[m.at[i]]); ok {
					visit(next)
				}
			}
		}
		if end {
			found[fmt.Sprint(m.results, m.words)] = true
		}
	}
	n := len(l)
	first := machine{at: make([]int, n), buffers: make([][]instruction, n), results: make([][]uint32, n)}
	visit(first)
	return slices.Sorted(maps.Keys(found))
}

// does returns the state after thread i has done in, if its buffer allows that.
func (m machine) does(i int, in instruction) (machine, bool) {
	m = m.clone()
	m.at[i]++
	value := m.words[in.x]
	switch in.op {
	case atomics.OpStoreRelease:
		m.buffers[i] = append(slices.Clone(m.buffers[i]), in)
		return m, true
	case atomics.OpLoad:
		for _, e := range m.buffers[i] {
			if e.x == in.x {
				value = e.v
			}
		}
	default:
		if len(m.buffers[i]) > 0 {
			return m, false
		}
		m.words[in.x] = in.v
	}
	if in.op != atomics.OpStore {
		m.results[i] = append(slices.Clone(m.results[i]), value)
	}
	return m, true
}

var unlimited = Limits{Preemptions: 30, Reorderings: 7}

// Short names for the instructions.
func load(x int) instruction                 { return instruction{atomics.OpLoad, x, 0} }
func put(x int, v uint32) instruction        { return instruction{atomics.OpStoreRelease, x, v} }
func store(x int, v uint32) instruction      { return instruction{atomics.OpStore, x, v} }
func swap(x int, v uint32) instruction       { return instruction{atomics.OpSwap, x, v} }
func thread(is ...instruction) []instruction { return is }

const x, y = 0, 1

// TestLitmus checks the outcomes that distinguish total store order from other models.
func TestLitmus(t *testing.T) {
	for _, test := range []struct {
		name    string
		program litmus
		outcome string
		allowed bool
	}{
		{"store buffering", litmus{thread(put(x, 1), load(y)), thread(put(y, 1), load(x))}, "[[0] [0]] [1 1 0]", true},
		{"store buffering with Store", litmus{thread(store(x, 1), load(y)), thread(store(y, 1), load(x))}, "[[0] [0]] [1 1 0]", false},
		{"store buffering with one Store", litmus{thread(store(x, 1), load(y)), thread(put(y, 1), load(x))}, "[[0] [0]] [1 1 0]", true},
		{"message passing", litmus{thread(put(x, 1), put(y, 1)), thread(load(y), load(x))}, "[[] [1 0]] [1 1 0]", false},
		{"own stores are seen early", litmus{thread(put(x, 1), load(x), load(y)), thread(put(y, 1), load(y), load(x))}, "[[1 0] [1 0]] [1 1 0]", true},
		{"n6 of x86-TSO", litmus{thread(put(x, 1), load(x), load(y)), thread(put(y, 2), put(x, 2))}, "[[1 0] []] [1 2 0]", true},
		{"n5 of x86-TSO", litmus{thread(put(x, 1), load(x)), thread(put(x, 2), load(x))}, "[[2] [1]] [1 0 0]", false},
		{"independent reads", litmus{thread(put(x, 1)), thread(put(y, 1)), thread(load(x), load(y)), thread(load(y), load(x))}, "[[] [] [1 0] [1 0]] [1 1 0]", false},
		{"a swap is a fence", litmus{thread(put(x, 1), swap(2, 1), load(y)), thread(put(y, 1), swap(2, 2), load(x))}, "[[0 0] [1 0]] [1 1 2]", false},
	} {
		got := test.program.explored(t, unlimited, false)
		if slices.Contains(got, test.outcome) != test.allowed {
			t.Errorf("%s: %v: outcome %s allowed is not %t in %q", test.name, test.program, test.outcome, test.allowed, got)
		}
		if want := test.program.reference(); !slices.Equal(got, want) {
			t.Errorf("%s: %v:\ngot  %q\nwant %q", test.name, test.program, got, want)
		}
	}
}

// randomLitmus returns a program of mostly loads and buffered stores.
func randomLitmus(rnd *rand.Rand, n int) litmus {
	ops := []atomics.Op{
		atomics.OpLoad, atomics.OpLoad, atomics.OpLoad, atomics.OpLoad, atomics.OpStoreRelease, atomics.OpStoreRelease,
		atomics.OpStoreRelease, atomics.OpStoreRelease, atomics.OpStore, atomics.OpSwap,
	}
	threads, length := 2, 4
	if n%4 == 0 {
		threads, length = 3, 3
	}
	l := make(litmus, threads)
	for i := range l {
		for range length {
			l[i] = append(l[i], instruction{op: ops[rnd.IntN(len(ops))], x: rnd.IntN(2), v: uint32(1 + rnd.IntN(3))})
		}
	}
	return l
}

// TestAgainstTotalStoreOrder compares all outcomes of random programs with the reference, so
// that delayed stores and known states lose none.
func TestAgainstTotalStoreOrder(t *testing.T) {
	const programs = 150
	rnd := rand.New(rand.NewPCG(1, 2))
	weak := 0
	for n := range programs {
		l := randomLitmus(rnd, n)
		want := l.reference()
		if got := l.explored(t, unlimited, false); !slices.Equal(got, want) {
			t.Fatalf("%v:\ngot  %q\nwant %q", l, got, want)
		}
		if len(l.explored(t, Limits{Preemptions: unlimited.Preemptions}, false)) < len(want) {
			weak++
		}
	}
	if weak < programs/10 {
		t.Errorf("the store buffer shows in only %d of %d programs: they test little", weak, programs)
	}
}

// TestKnownStatesWithinLimits compares the outcomes with and without known states, within few
// preemptions and reorderings.
func TestKnownStatesWithinLimits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 100 {
		l := randomLitmus(rnd, n)
		limits := Limits{Preemptions: n % 3, Reorderings: n / 3 % 3}
		known, all := l.explored(t, limits, false), l.explored(t, limits, true)
		if !slices.Equal(known, all) {
			t.Fatalf("%v within %+v:\ngot  %q\nwant %q", l, limits, known, all)
		}
	}
}
