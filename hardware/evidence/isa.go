package evidence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"locklab/atomics"
)

type isa struct {
	// padding fills the space after a function. The length of each instruction is a
	// multiple of its length.
	padding []byte

	// decode returns the first instruction of code, at pc, and its length; its text may be "".
	decode func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (text string, size int)

	marks []mark // the first match counts
}

type mark struct {
	op     string // prefix of the text
	atomic bool   // if it has a memory operand: XCHG of two registers is not atomic
	note   string // for [Line.Note]
}

func (a *isa) disassemble(f *runtime.Func) []Line {
	// Addresses count from the start of f, independent of the linker's placement.
	symbol := func(addr uint64) (string, uint64) {
		g := runtime.FuncForPC(f.Entry() + uintptr(addr))
		if g == nil {
			return "", 0
		}
		return g.Name(), uint64(g.Entry() - f.Entry())
	}
	lines := a.lines(text(f), symbol)
	for len(lines) > 0 && bytes.Equal(lines[len(lines)-1].Bytes, a.padding) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (a *isa) lines(code []byte, symbol func(uint64) (string, uint64)) []Line {
	var lines []Line
	for at := 0; at < len(code); {
		rest := code[at:]
		text, size := a.decode(rest, uint64(at), symbol)
		if text == "" || size < 1 || size > len(rest) {
			size = min(len(a.padding), len(rest))
			text = raw(rest[:size])
		}
		line := Line{Offset: at, Bytes: rest[:size:size], Text: text}
		line.Atomic, line.Note = a.explain(text)
		lines = append(lines, line)
		at += size
	}
	return lines
}

func (a *isa) explain(text string) (atomic bool, note string) {
	for _, m := range a.marks {
		if !strings.HasPrefix(text, m.op) {
			continue
		}
		if !m.atomic || strings.Contains(text, "(") {
			return m.atomic, m.note
		}
	}
	return false, ""
}

func raw(b []byte) string {
	if len(b) == 4 {
		return fmt.Sprintf("WORD $%#08x", binary.NativeEndian.Uint32(b))
	}
	return fmt.Sprintf("BYTE $%#x", b)
}

// The classes of FEAT_LSE instructions, which golang.org/x/arch v0.32 does not
// decode: Arm Architecture Reference Manual (DDI 0487), C4.1 "Loads and
// Stores", Compare and swap; Atomic memory operations.
//
//	size 0010001 A 1 Rs R 11111 Rn Rt    CAS
//	size 111000 A R 1 Rs op  00 Rn Rt    SWP, LDADD, LDCLR, LDEOR, LDOR (LDSET to Arm)
const (
	casMask, casBits       = 0x3fa07c00, 0x08a07c00
	memoryMask, memoryBits = 0x3f200c00, 0x38200000
)

func lse(word uint32) string {
	bit := func(n int) bool { return word>>n&1 == 1 }
	var op string
	var acquire, release bool
	switch {
	case word&casMask == casBits:
		op, acquire, release = "CAS", bit(22), bit(15)
	case word&memoryMask == memoryBits:
		op, acquire, release = memoryOps[word>>12&15], bit(23), bit(22)
	}
	if op == "" {
		return ""
	}
	if acquire {
		op += "A"
	}
	if release {
		op += "L"
	}
	size := "BHWD"[word>>30]
	return fmt.Sprintf("%s%c %s, (%s), %s", op, size, register(word>>16, "ZR"), register(word>>5, "RSP"), register(word, "ZR"))
}

var memoryOps = map[uint32]string{0: "LDADD", 1: "LDCLR", 2: "LDEOR", 3: "LDOR", 8: "SWP"}

func register(n uint32, r31 string) string {
	if n &= 31; n != 31 {
		return fmt.Sprintf("R%d", n)
	}
	return r31
}

// inlined is [atomics.Reference] as a lock uses it: the compiler inlines each call below.
var inlined = &atomics.Primitive{
	Name: atomics.Reference.Name,
	Word32: atomics.Operations[uint32]{
		CompareAndSwap: compareAndSwap,
		Swap:           swap,
		Add:            add,
		LoadAcquire:    load,
		StoreRelease:   store,
	},
}

//go:noinline
func compareAndSwap(p *uint32, old, new uint32) bool { return atomic.CompareAndSwapUint32(p, old, new) }

//go:noinline
func swap(p *uint32, new uint32) uint32 { return atomic.SwapUint32(p, new) }

//go:noinline
func add(p *uint32, delta uint32) uint32 { return atomic.AddUint32(p, delta) }

//go:noinline
func load(p *uint32) uint32 { return atomic.LoadUint32(p) }

//go:noinline
func store(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
