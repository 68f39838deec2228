package evidence

import "fmt"

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
		op, acquire, release = memoryOp(word>>12&15), bit(23), bit(22)
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

func memoryOp(code uint32) string {
	switch code {
	case 0:
		return "LDADD"
	case 1:
		return "LDCLR"
	case 2:
		return "LDEOR"
	case 3:
		return "LDOR"
	case 8:
		return "SWP"
	}
	return ""
}

func register(n uint32, r31 string) string {
	if n &= 31; n != 31 {
		return fmt.Sprintf("R%d", n)
	}
	return r31
}
