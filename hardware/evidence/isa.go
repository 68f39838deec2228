package evidence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
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
