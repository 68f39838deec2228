package evidence

import "golang.org/x/arch/x86/x86asm"

// native: Intel SDM vol. 2; vol. 3A, Locked Atomic Operations.
var native = &isa{
	padding: []byte{0xcc}, // INT3
	decode: func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (string, int) {
		inst, err := x86asm.Decode(code, 64)
		if err != nil {
			return "", 0
		}
		return x86asm.GoSyntax(inst, pc, symbol), inst.Len
	},
	marks: []mark{
		{"LOCK CMPXCHG", true, "stores if memory equals AX; LOCK keeps the line from read to write"},
		{"LOCK XADD", true, "adds, and fetches the old value; LOCK keeps the line from read to write"},
		{"LOCK ", true, "LOCK keeps the line from read to write"},
		{"XCHG", true, "with memory it is locked without the prefix, and a full barrier"},
		{"MFENCE", false, "full barrier"},
	},
}
