//go:build !systematic

package atomics

import (
	"regexp"
	"strings"
	"testing"
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

	listing := disassemble(t, "amd64")
	for _, function := range []string{"orderStores", "orderLoads", "orderLoop", "orderCopies", "orderWide", "orderAdd"} {
		_, body, found := strings.Cut(listing, "atomics."+function+"(SB) ")
		body, _, _ = strings.Cut(body, "\nTEXT ")
		if !found {
			t.Errorf("%s is not in the binary", function)
			continue
		}
		if err := checkOrder(strings.Split(blanks.ReplaceAllString(body, " "), "\n")); err != "" {
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
		if got := checkOrder(test.lines); got != test.want {
			t.Errorf("%q: %q, want %q", test.lines, got, test.want)
		}
	}
}
