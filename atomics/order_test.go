//go:build !systematic

package atomics

import (
	"math/bits"
	"regexp"
	"strings"
	"sync"
	"testing"

	"locklab/internal/require"
)

// A listing shows the fields of an orderRecord by offset; the locks are at 0x100 and 0x108.
type orderRecord struct {
	_      [0x100]byte
	word   Uint32
	_      [4]byte
	word64 Uint64
	_      [0x1000 - 0x110]byte

	// The data that the lock guards.
	a, b, c uint64
	list    [4]uint64
	next    *orderRecord // a store to it has a write barrier
	block   [96]byte     // copied by more than one instruction
	text    string
}

// The functions below take the lock, use the guarded data and release the lock last. So
// all accesses to fields beyond 0x1000 must come before the store to the word.

//go:noinline
func orderStores(r *orderRecord, v uint64) {
	for !r.word.CompareAndSwap(0, 1) {
	}
	r.a = v
	r.b = v + 1
	r.c = r.a + r.list[1]
	r.word.StoreRelease(0)
}

//go:noinline
func orderLoads(r *orderRecord) (sum uint64) {
	for !r.word.CompareAndSwap(0, 1) {
	}
	x, y, z := r.a, r.list[2], len(r.text)
	r.word.StoreRelease(0)
	return x*3 + y*5 + uint64(z)*7 // a compiler might put the loads here
}

//go:noinline
func orderLoop(r *orderRecord) {
	for !r.word.CompareAndSwap(0, 1) {
	}
	for i := range r.list {
		r.list[i] += r.a
	}
	r.word.StoreRelease(0)
}

//go:noinline
func orderCopies(r, from *orderRecord) {
	for !r.word.CompareAndSwap(0, 1) {
	}
	r.block = from.block
	r.next = from
	r.text = from.text
	r.word.StoreRelease(0)
}

//go:noinline
func orderWide(r *orderRecord, v uint64) (old uint64) {
	for !r.word64.CompareAndSwap(0, 1) {
	}
	old = r.b
	r.b = v
	r.word64.StoreRelease(0)
	return old + v
}

//go:noinline
func orderAdd(r *orderRecord, v uint64) (old uint64) {
	old = r.b
	r.b = v
	r.word.AddRelease(1)
	return old * v
}

var (
	guardedField = regexp.MustCompile(`0x1[0-9a-f]{3}\(`)                   // an operand beyond 0x1000
	releaseMOV   = regexp.MustCompile(`MOV[LQ] \S+, 0x10[08]\([A-Z0-9]+\)`) // a plain store to a word
)

// TestToolchainOrder fails if a guarded access moves behind the plain store of the release.
func TestToolchainOrder(t *testing.T) {
	// Without these calls the linker leaves the functions out.
	r := new(orderRecord)
	orderStores(r, 1)
	orderLoads(r)
	orderLoop(r)
	orderCopies(r, r)
	orderWide(r, 1)
	orderAdd(r, 1)

	listing := disassembleTarget(t, "amd64")
	for _, function := range []string{"orderStores", "orderLoads", "orderLoop", "orderCopies", "orderWide", "orderAdd"} {
		body, found := functionBody(listing, function)
		if !found {
			t.Errorf("%s is not in the binary", function)
			continue
		}
		if err := checkOrder(strings.Split(body, "\n")); err != "" {
			t.Errorf("%s: %s:\n%s", function, err, body)
		}
	}
}

func checkOrder(lines []string) string {
	released := -1
	var guarded int
	for i, line := range lines {
		switch {
		case releaseMOV.MatchString(line):
			if released >= 0 {
				return "two releases"
			}
			released = i
		case guardedField.MatchString(line):
			guarded++
			if released >= 0 {
				return "guarded memory is used after the release: " + line
			}
		}
	}
	switch {
	case released < 0:
		return "no plain store to the word"
	case guarded == 0:
		return "guarded memory is not used"
	}
	return ""
}

func TestOrderChecker(t *testing.T) {
	const load, release = "f.go:1 0x1 488b MOVQ 0x1010(AX), CX", "f.go:2 0x2 c780 MOVL $0x0, 0x100(AX)"
	for _, test := range []struct {
		lines []string
		want  string
	}{
		{[]string{load, release}, ""},
		{[]string{load, release, load}, "guarded memory is used after the release: " + load},
		{[]string{release}, "guarded memory is not used"},
		{[]string{load}, "no plain store to the word"},
		{[]string{load, "f.go:2 0x2 8790 XCHGL DX, 0x100(AX)"}, "no plain store to the word"},
		{[]string{load, release, release}, "two releases"},
	} {
		require.Equal(t, test.lines, checkOrder(test.lines), test.want)
	}
}

// These tests fail if an operation makes its word escape to the heap, as assembly without
// noescape does. Under the tag systematic words escape: the scheduler gets their address.

func TestNothingAllocates(t *testing.T) {
	requireNoAllocation(t, "SpinHint and Ticks", func() { SpinHint(int(Ticks() % 2)) })
	requireNoAllocation(t, "Uint32", func() {
		var w Uint32
		w.Store(1)
		w.StoreRelease(w.Add(1) + w.Swap(3))
		w.CompareAndSwap(w.Load(), 0)
		w.PollWhile(0, 2)
	})
	if bits.UintSize == 32 {
		return // sync/atomic moves 64-bit words to the heap to align them
	}
	requireNoAllocation(t, "Uint64", func() {
		var w Uint64
		w.Store(1)
		w.StoreRelease(w.Add(1) + w.Swap(3))
		w.CompareAndSwap(w.Load(), 0)
		w.PollWhile(0, 2)
	})
}

func requireNoAllocation(t *testing.T, name string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s: %v allocations, want none", name, n)
	}
}

// TestLane: goroutines alive at the same time use at least half of the numbers below n.
func TestLane(t *testing.T) {
	const goroutines = 256
	for _, n := range []int{1, 2, 3, 16, 64} {
		counts := make([]int, n)
		var mu sync.Mutex // guards counts
		var ready, wg sync.WaitGroup
		ready.Add(goroutines)
		for range goroutines {
			wg.Go(func() {
				mine := Lane(n)
				mu.Lock()
				counts[mine]++
				mu.Unlock()
				ready.Done()
				ready.Wait() // so that no two have one stack
			})
		}
		wg.Wait()
		t.Log(counts)
		used := 0
		for _, c := range counts {
			used += min(c, 1)
		}
		if used < (n+1)/2 {
			t.Errorf("%d goroutines use %d of %d lanes, want half at least", goroutines, used, n)
		}
	}
}
