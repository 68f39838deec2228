package evidence

import (
	"strings"

	"golang.org/x/arch/riscv64/riscv64asm"
)

// native: The RISC-V Instruction Set Manual, volume I, extension A.
var native = &isa{
	padding: make([]byte, 2),
	decode: func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (string, int) {
		inst, err := riscv64asm.Decode(code)
		if err != nil {
			return "", 0
		}
		return ordered(riscv64asm.GoSyntax(inst, pc, symbol, nil), inst.Op.String()), inst.Len
	},
	marks: []mark{
		{"LR", true, "load-reserved: reserves the word"},
		{"SC", true, "store-conditional: stores if the reservation holds, else its result is not 0"},
		{"AMOSWAP", true, "swap in one instruction"},
		{"AMOADD", true, "add in one instruction"},
		{"AMO", true, "read-modify-write in one instruction"},
		{"FENCE", false, "barrier"},
	},
}

// ordered adds the bits aq and rl, which Go's syntax omits, to an atomic mnemonic: "LRW.AQ" is
// LR.W.AQ, a load that stays before later accesses.
func ordered(text, name string) string {
	for _, bits := range []string{".AQ", ".RL", ".AQRL"} {
		if strings.HasSuffix(name, bits) {
			op, args, _ := strings.Cut(text, " ")
			return op + bits + " " + args
		}
	}
	return text
}
