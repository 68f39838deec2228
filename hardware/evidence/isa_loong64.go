package evidence

import (
	"fmt"

	"golang.org/x/arch/loong64/loong64asm"
)

// native: LoongArch Reference Manual, volume 1, atomic memory access and barrier instructions.
var native = &isa{
	padding: []byte{0x00, 0x00, 0x2a, 0x00}, // BREAK
	decode: func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (string, int) {
		inst, err := loong64asm.Decode(code)
		if err != nil {
			return "", 0
		}
		text := loong64asm.GoSyntax(inst, pc, symbol)
		if inst.Op == loong64asm.DBAR {
			text = fmt.Sprintf("DBAR $%#x", inst.Enc&0x7fff) // the hint selects the accesses kept in order
		}
		return text, 4
	},
	marks: []mark{
		{"LL", true, "load-linked: reserves the word"},
		{"SC", true, "store-conditional: stores if the reservation holds, else its result is 0"},
		{"AMCAS", true, "compare-and-swap in one instruction (LAMCAS)"},
		{"AMSWAP", true, "swap in one instruction"},
		{"AMADD", true, "add in one instruction"},
		{"DBAR $0x10", false, "full barrier"},
		{"DBAR $0x12", false, "barrier: earlier accesses stay before later stores"},
		{"DBAR $0x14", false, "barrier: later accesses stay after earlier loads"},
		{"DBAR", false, "barrier"},
	},
}
