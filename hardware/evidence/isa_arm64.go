package evidence

import (
	"encoding/binary"

	"golang.org/x/arch/arm64/arm64asm"
)

// native is the instruction set of this binary: Arm Architecture Reference Manual (DDI 0487).
var native = &isa{
	padding: make([]byte, 4),
	decode: func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (string, int) {
		if len(code) < 4 {
			return "", 0
		}
		inst, err := arm64asm.Decode(code)
		if err != nil {
			return lse(binary.LittleEndian.Uint32(code)), 4
		}
		return arm64asm.GoSyntax(inst, pc, symbol, nil), 4
	},
	marks: []mark{
		{"LDAXR", true, "load-exclusive, acquire: reserves the word"},
		{"STLXR", true, "store-exclusive, release: stores if the reservation holds, else its status is 1"},
		{"CASAL", true, "compare-and-swap in one instruction (FEAT_LSE), acquire and release"},
		{"SWPAL", true, "swap in one instruction (FEAT_LSE), acquire and release"},
		{"LDADDAL", true, "add in one instruction (FEAT_LSE), acquire and release"},
		{"LDXR", true, "load-exclusive: reserves the word"},
		{"STXR", true, "store-exclusive: stores if the reservation holds, else its status is 1"},
		{"CAS", true, "compare-and-swap in one instruction (FEAT_LSE)"},
		{"SWP", true, "swap in one instruction (FEAT_LSE)"},
		{"LDADD", true, "add in one instruction (FEAT_LSE)"},
		{"LDAR", false, "load-acquire: later accesses stay after it"},
		{"STLR", false, "store-release: earlier accesses stay before it"},
		{"DMB", false, "barrier"},
	},
}
