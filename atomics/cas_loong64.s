//go:build gc && !purego

// LL and SC, or AMCAS on CPUs that have it, compare and swap; one AM instruction each
// swaps and adds. DB in their names makes them barriers. LL and SC are not barriers, so
// they stand between two. A 32-bit value is sign-extended in a register, whatever its
// origin.

#include "textflag.h"

#define word	R4 // address of the word
#define expect	R5 // the value to find
#define val	R6 // operand, or the value to write
#define seen	R7 // the value that was there
#define stored	R8 // in: the value for SC; out: 1 if it stored, else 0

// The hints of DBAR. A CPU that does not support a hint takes the full barrier.
#define ALL	0x10 // everything before, everything after
#define RELEASE	0x12 // everything before, stores after
#define ACQUIRE	0x14 // loads before, everything after

// func asmCAS32(p *uint32, old, new uint32) (swapped bool)
//
//	for {
//		seen = reserve(*p)
//		if seen != old { return false }
//		if store(*p, new) { return true }
//	}
TEXT ·asmCAS32(SB), NOSPLIT|NOFRAME, $0-17
	MOVV p+0(FP), word
	MOVW old+8(FP), expect
	MOVW new+12(FP), val
	MOVV R0, stored
	DBAR $ALL

again:
	LL (word), seen
	BNE seen, expect, done
	MOVV val, stored
	SC stored, (word)
	BEQ stored, again

done:
	DBAR $ALL
	MOVB stored, swapped+16(FP)
	RET

// func asmCAS64(p *uint64, old, new uint64) (swapped bool)
//
//	as asmCAS32
TEXT ·asmCAS64(SB), NOSPLIT|NOFRAME, $0-25
	MOVV p+0(FP), word
	MOVV old+8(FP), expect
	MOVV new+16(FP), val
	MOVV R0, stored
	DBAR $ALL

again:
	LLV (word), seen
	BNE seen, expect, done
	MOVV val, stored
	SCV stored, (word)
	BEQ stored, again

done:
	DBAR $ALL
	MOVB stored, swapped+24(FP)
	RET

// func amcas32(p *uint32, old, new uint32) (swapped bool)
//
//	atomically { seen = *p; if seen == old { *p = new } }; return seen == old
TEXT ·amcas32(SB), NOSPLIT|NOFRAME, $0-17
	MOVV p+0(FP), word
	MOVW old+8(FP), expect
	MOVW new+12(FP), val
	MOVV expect, seen
	AMCASDBW val, (word), seen
	XOR expect, seen
	SGTU $1, seen, stored // 1 > seen: no difference
	MOVB stored, swapped+16(FP)
	RET

// func amcas64(p *uint64, old, new uint64) (swapped bool)
//
//	atomically { seen = *p; if seen == old { *p = new } }; return seen == old
TEXT ·amcas64(SB), NOSPLIT|NOFRAME, $0-25
	MOVV p+0(FP), word
	MOVV old+8(FP), expect
	MOVV new+16(FP), val
	MOVV expect, seen
	AMCASDBV val, (word), seen
	XOR expect, seen
	SGTU $1, seen, stored // 1 > seen: no difference
	MOVB stored, swapped+24(FP)
	RET

// func asmSwap32(p *uint32, new uint32) (old uint32)
//
//	atomically { old = *p; *p = new }
TEXT ·asmSwap32(SB), NOSPLIT|NOFRAME, $0-20
	MOVV p+0(FP), word
	MOVW new+8(FP), val
	AMSWAPDBW val, (word), seen
	MOVW seen, old+16(FP)
	RET

// func asmSwap64(p *uint64, new uint64) (old uint64)
//
//	atomically { old = *p; *p = new }
TEXT ·asmSwap64(SB), NOSPLIT|NOFRAME, $0-24
	MOVV p+0(FP), word
	MOVV new+8(FP), val
	AMSWAPDBV val, (word), seen
	MOVV seen, old+16(FP)
	RET

// func asmAdd32(p *uint32, delta uint32) (new uint32)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·asmAdd32(SB), NOSPLIT|NOFRAME, $0-20
	MOVV p+0(FP), word
	MOVW delta+8(FP), val
	AMADDDBW val, (word), seen
	ADDV val, seen
	MOVW seen, new+16(FP)
	RET

// func asmAdd64(p *uint64, delta uint64) (new uint64)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·asmAdd64(SB), NOSPLIT|NOFRAME, $0-24
	MOVV p+0(FP), word
	MOVV delta+8(FP), val
	AMADDDBV val, (word), seen
	ADDV val, seen
	MOVV seen, new+16(FP)
	RET

// func asmLoad32(p *uint32) (v uint32)
//
//	return *p, before every access after it
TEXT ·asmLoad32(SB), NOSPLIT|NOFRAME, $0-12
	MOVV p+0(FP), word
	MOVW (word), val
	DBAR $ACQUIRE
	MOVW val, v+8(FP)
	RET

// func asmLoad64(p *uint64) (v uint64)
//
//	return *p, before every access after it
TEXT ·asmLoad64(SB), NOSPLIT|NOFRAME, $0-16
	MOVV p+0(FP), word
	MOVV (word), val
	DBAR $ACQUIRE
	MOVV val, v+8(FP)
	RET

// func asmStore32(p *uint32, v uint32)
//
//	*p = v, after every access before it
TEXT ·asmStore32(SB), NOSPLIT|NOFRAME, $0-12
	MOVV p+0(FP), word
	MOVW v+8(FP), val
	DBAR $RELEASE
	MOVW val, (word)
	RET

// func asmStore64(p *uint64, v uint64)
//
//	*p = v, after every access before it
TEXT ·asmStore64(SB), NOSPLIT|NOFRAME, $0-16
	MOVV p+0(FP), word
	MOVV v+8(FP), val
	DBAR $RELEASE
	MOVV val, (word)
	RET
