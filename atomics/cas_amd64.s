//go:build gc && !purego

// One locked instruction per function. CMPXCHG compares with AX, whatever its
// operands are; XCHG with memory is locked without the prefix.

#include "textflag.h"

#define word	BX // address of the word
#define expect	AX // the value that CMPXCHG compares with
#define val	CX // operand; XCHG and XADD leave the old value here
#define added	DX // copy of what XADD adds

// func asmCAS32(p *uint32, old, new uint32) (swapped bool)
//
//	atomically { if *p == old { *p = new; return true }; return false }
TEXT ·asmCAS32(SB), NOSPLIT|NOFRAME, $0-17
	MOVQ p+0(FP), word
	MOVL old+8(FP), expect
	MOVL new+12(FP), val
	LOCK
	CMPXCHGL val, 0(word)
	SETEQ swapped+16(FP)
	RET

// func asmCAS64(p *uint64, old, new uint64) (swapped bool)
//
//	atomically { if *p == old { *p = new; return true }; return false }
TEXT ·asmCAS64(SB), NOSPLIT|NOFRAME, $0-25
	MOVQ p+0(FP), word
	MOVQ old+8(FP), expect
	MOVQ new+16(FP), val
	LOCK
	CMPXCHGQ val, 0(word)
	SETEQ swapped+24(FP)
	RET

// func asmSwap32(p *uint32, new uint32) (old uint32)
//
//	atomically { old = *p; *p = new }
TEXT ·asmSwap32(SB), NOSPLIT|NOFRAME, $0-20
	MOVQ p+0(FP), word
	MOVL new+8(FP), val
	XCHGL val, 0(word)
	MOVL val, old+16(FP)
	RET

// func asmSwap64(p *uint64, new uint64) (old uint64)
//
//	atomically { old = *p; *p = new }
TEXT ·asmSwap64(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ p+0(FP), word
	MOVQ new+8(FP), val
	XCHGQ val, 0(word)
	MOVQ val, old+16(FP)
	RET

// func asmAdd32(p *uint32, delta uint32) (new uint32)
//
//	atomically { *p += delta; new = *p }
TEXT ·asmAdd32(SB), NOSPLIT|NOFRAME, $0-20
	MOVQ p+0(FP), word
	MOVL delta+8(FP), val
	MOVL val, added
	LOCK
	XADDL val, 0(word)
	ADDL added, val
	MOVL val, new+16(FP)
	RET

// func asmAdd64(p *uint64, delta uint64) (new uint64)
//
//	atomically { *p += delta; new = *p }
TEXT ·asmAdd64(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ p+0(FP), word
	MOVQ delta+8(FP), val
	MOVQ val, added
	LOCK
	XADDQ val, 0(word)
	ADDQ added, val
	MOVQ val, new+16(FP)
	RET

// func asmLoad32(p *uint32) (v uint32)
//
//	return *p; x86 lets no later access pass an earlier load
TEXT ·asmLoad32(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ p+0(FP), word
	MOVL 0(word), val
	MOVL val, v+8(FP)
	RET

// func asmLoad64(p *uint64) (v uint64)
//
//	return *p; x86 lets no later access pass an earlier load
TEXT ·asmLoad64(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), word
	MOVQ 0(word), val
	MOVQ val, v+8(FP)
	RET

// func asmStore32(p *uint32, v uint32)
//
//	*p = v; x86 lets no store pass an earlier access
TEXT ·asmStore32(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ p+0(FP), word
	MOVL v+8(FP), val
	MOVL val, 0(word)
	RET

// func asmStore64(p *uint64, v uint64)
//
//	*p = v; x86 lets no store pass an earlier access
TEXT ·asmStore64(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), word
	MOVQ v+8(FP), val
	MOVQ val, 0(word)
	RET
