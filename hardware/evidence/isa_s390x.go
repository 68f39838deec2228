package evidence

import "golang.org/x/arch/s390x/s390xasm"

// native: z/Architecture Principles of Operation (SA22-7832).
var native = &isa{
	padding: make([]byte, 2),
	decode: func(code []byte, pc uint64, symbol func(uint64) (string, uint64)) (string, int) {
		if len(code) < 2+int(code[0]>>7+code[0]>>6&1)*2 {
			return "", 0 // the decoder expects a whole instruction
		}
		inst, err := s390xasm.Decode(code)
		if err != nil {
			return "", 0
		}
		return s390xasm.GoSyntax(inst, pc, symbol), inst.Len
	},
	marks: []mark{
		{"CS", true, "compare-and-swap in one instruction, serializing"},
		{"LAA", true, "load and add in one instruction"},
		{"SYNC", false, "serialization: full barrier"},
	},
}
