//go:build gc && !purego

// LR and SC compare and swap, one AMO instruction each swaps and adds. The assembler sets
// aq, acquire, on LR, rl, release, on SC, and both on the AMO instructions, as the
// compiler does for sync/atomic. A 32-bit value is sign-extended in a register, whatever
// its origin.

#include "textflag.h"

#define word	A0 // address of the word
#define expect	A1 // the value to find
#define val	A2 // operand, or the value to write
#define seen	A3 // the value that was there
#define failed	A4 // SC: 0 if it stored

// The assembler supports only the full fence. These are the two halves of it that table
// A.6 of the RISC-V memory model requires.
#define FENCE_R_RW	WORD $0x0230000f // loads before, everything after
#define FENCE_RW_W	WORD $0x0310000f // everything before, stores after

// func asmCAS32(p *uint32, old, new uint32) (swapped bool)
//
//	for {
//		seen = reserve(*p)
//		if seen != old { return false }
//		if store(*p, new) { return true }
//	}
TEXT ·asmCAS32(SB), NOSPLIT|NOFRAME, $0-17
	MOV p+0(FP), word
	MOVW old+8(FP), expect
	MOVW new+12(FP), val

again:
	LRW (word), seen
	BNE seen, expect, done
	SCW val, (word), failed
	BNE failed, ZERO, again

done:
	XOR expect, seen
	SEQZ seen, seen // 1 if old was there, that is if it stored
	MOVB seen, swapped+16(FP)
	RET

// func asmCAS64(p *uint64, old, new uint64) (swapped bool)
//
//	as asmCAS32
TEXT ·asmCAS64(SB), NOSPLIT|NOFRAME, $0-25
	MOV p+0(FP), word
	MOV old+8(FP), expect
	MOV new+16(FP), val

again:
	LRD (word), seen
	BNE seen, expect, done
	SCD val, (word), failed
	BNE failed, ZERO, again

done:
	XOR expect, seen
	SEQZ seen, seen // 1 if old was there, that is if it stored
	MOVB seen, swapped+24(FP)
	RET

// func asmSwap32(p *uint32, new uint32) (old uint32)
//
//	atomically { old = *p; *p = new }
TEXT ·asmSwap32(SB), NOSPLIT|NOFRAME, $0-20
	MOV p+0(FP), word
	MOVW new+8(FP), val
	AMOSWAPW val, (word), seen
	MOVW seen, old+16(FP)
	RET

// func asmSwap64(p *uint64, new uint64) (old uint64)
//
//	atomically { old = *p; *p = new }
TEXT ·asmSwap64(SB), NOSPLIT|NOFRAME, $0-24
	MOV p+0(FP), word
	MOV new+8(FP), val
	AMOSWAPD val, (word), seen
	MOV seen, old+16(FP)
	RET

// func asmAdd32(p *uint32, delta uint32) (new uint32)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·asmAdd32(SB), NOSPLIT|NOFRAME, $0-20
	MOV p+0(FP), word
	MOVW delta+8(FP), val
	AMOADDW val, (word), seen
	ADD val, seen
	MOVW seen, new+16(FP)
	RET

// func asmAdd64(p *uint64, delta uint64) (new uint64)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·asmAdd64(SB), NOSPLIT|NOFRAME, $0-24
	MOV p+0(FP), word
	MOV delta+8(FP), val
	AMOADDD val, (word), seen
	ADD val, seen
	MOV seen, new+16(FP)
	RET

// func asmLoad32(p *uint32) (v uint32)
//
//	return *p, before every access after it
TEXT ·asmLoad32(SB), NOSPLIT|NOFRAME, $0-12
	MOV p+0(FP), word
	MOVW (word), val
	FENCE_R_RW
	MOVW val, v+8(FP)
	RET

// func asmLoad64(p *uint64) (v uint64)
//
//	return *p, before every access after it
TEXT ·asmLoad64(SB), NOSPLIT|NOFRAME, $0-16
	MOV p+0(FP), word
	MOV (word), val
	FENCE_R_RW
	MOV val, v+8(FP)
	RET

// func asmStore32(p *uint32, v uint32)
//
//	*p = v, after every access before it
TEXT ·asmStore32(SB), NOSPLIT|NOFRAME, $0-12
	MOV p+0(FP), word
	MOVW v+8(FP), val
	FENCE_RW_W
	MOVW val, (word)
	RET

// func asmStore64(p *uint64, v uint64)
//
//	*p = v, after every access before it
TEXT ·asmStore64(SB), NOSPLIT|NOFRAME, $0-16
	MOV p+0(FP), word
	MOV v+8(FP), val
	FENCE_RW_W
	MOV val, (word)
	RET
