package evidence

import (
	"encoding/binary"

	"golang.org/x/arch/ppc64/ppc64asm"
)

// native is the instruction set of this binary: Power ISA, book II, chapter 4.
var native = &isa{
	padding: make([]byte, 4),
	decode: func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (string, int) {
		inst, err := ppc64asm.Decode(code, binary.LittleEndian)
		if err != nil {
			return "", 0
		}
		return ppc64asm.GoSyntax(inst, pc, symbol), inst.Len
	},
	marks: []mark{
		{"LWAR", true, "load-and-reserve: reserves the word"},
		{"LDAR", true, "load-and-reserve: reserves the word"},
		{"STWCCC", true, "store-conditional: stores if the reservation holds, and reports it in CR0"},
		{"STDCCC", true, "store-conditional: stores if the reservation holds, and reports it in CR0"},
		{"LWSYNC", false, "barrier for all but a store before a load"},
		{"HWSYNC", false, "full barrier"},
		{"ISYNC", false, "with the branch before it, later accesses stay after the load"},
	},
}
