//go:build gc && !purego

// Loops of LWARX and STWCX., LDARX and STDCX. (in Go LWAR, STWCCC, LDAR and STDCCC)
// between two LWSYNC. LWSYNC orders everything except a store before it and a load after
// it. The compiler emits the same for sync/atomic, but ends Swap with ISYNC, which orders
// less.

#include "textflag.h"

#define word	R3 // address of the word
#define expect	R4 // the value to find
#define val	R5 // operand, or the value to write
#define seen	R6 // the value that was there
#define one	R7

// func asmCAS32(p *uint32, old, new uint32) (swapped bool)
//
//	for {
//		seen = reserve(*p)
//		if seen != old { return false }
//		if store(*p, new) { return true }
//	}
TEXT ·asmCAS32(SB), NOSPLIT|NOFRAME, $0-17
	MOVD p+0(FP), word
	MOVWZ old+8(FP), expect
	MOVWZ new+12(FP), val
	MOVD $1, one
	LWSYNC

again:
	LWAR (word), seen
	CMPW expect, seen
	BNE done
	STWCCC val, (word)
	BNE again

done:
	LWSYNC
	ISEL CR0EQ, one, R0, seen // CR0 is from the compare that failed or from the store
	MOVB seen, swapped+16(FP)
	RET

// func asmCAS64(p *uint64, old, new uint64) (swapped bool)
//
//	as asmCAS32
TEXT ·asmCAS64(SB), NOSPLIT|NOFRAME, $0-25
	MOVD p+0(FP), word
	MOVD old+8(FP), expect
	MOVD new+16(FP), val
	MOVD $1, one
	LWSYNC

again:
	LDAR (word), seen
	CMP expect, seen
	BNE done
	STDCCC val, (word)
	BNE again

done:
	LWSYNC
	ISEL CR0EQ, one, R0, seen // CR0 is from the compare that failed or from the store
	MOVB seen, swapped+24(FP)
	RET

// func asmSwap32(p *uint32, new uint32) (old uint32)
//
//	do { old = reserve(*p) } while !store(*p, new)
TEXT ·asmSwap32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD p+0(FP), word
	MOVWZ new+8(FP), val
	LWSYNC

again:
	LWAR (word), seen
	STWCCC val, (word)
	BNE again
	LWSYNC
	MOVW seen, old+16(FP)
	RET

// func asmSwap64(p *uint64, new uint64) (old uint64)
//
//	do { old = reserve(*p) } while !store(*p, new)
TEXT ·asmSwap64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD new+8(FP), val
	LWSYNC

again:
	LDAR (word), seen
	STDCCC val, (word)
	BNE again
	LWSYNC
	MOVD seen, old+16(FP)
	RET

// func asmAdd32(p *uint32, delta uint32) (new uint32)
//
//	do { new = reserve(*p) + delta } while !store(*p, new)
TEXT ·asmAdd32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD p+0(FP), word
	MOVWZ delta+8(FP), val
	LWSYNC

again:
	LWAR (word), seen
	ADD val, seen
	STWCCC seen, (word)
	BNE again
	LWSYNC
	MOVW seen, new+16(FP)
	RET

// func asmAdd64(p *uint64, delta uint64) (new uint64)
//
//	do { new = reserve(*p) + delta } while !store(*p, new)
TEXT ·asmAdd64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD delta+8(FP), val
	LWSYNC

again:
	LDAR (word), seen
	ADD val, seen
	STDCCC seen, (word)
	BNE again
	LWSYNC
	MOVD seen, new+16(FP)
	RET

// func asmLoad32(p *uint32) (v uint32)
//
//	return *p, before every access after it
TEXT ·asmLoad32(SB), NOSPLIT|NOFRAME, $0-12
	MOVD p+0(FP), word
	MOVWZ (word), val
	CMPW val, val, CR7
	BC 4, 30, 1(PC) // BNE CR7 to the next instruction: it waits for the load
	ISYNC // and this waits for the branch
	MOVW val, v+8(FP)
	RET

// func asmLoad64(p *uint64) (v uint64)
//
//	return *p, before every access after it
TEXT ·asmLoad64(SB), NOSPLIT|NOFRAME, $0-16
	MOVD p+0(FP), word
	MOVD (word), val
	CMP val, val, CR7
	BC 4, 30, 1(PC) // BNE CR7 to the next instruction: it waits for the load
	ISYNC // and this waits for the branch
	MOVD val, v+8(FP)
	RET

// func asmStore32(p *uint32, v uint32)
//
//	*p = v, after every access before it
TEXT ·asmStore32(SB), NOSPLIT|NOFRAME, $0-12
	MOVD p+0(FP), word
	MOVWZ v+8(FP), val
	LWSYNC
	MOVW val, (word)
	RET

// func asmStore64(p *uint64, v uint64)
//
//	*p = v, after every access before it
TEXT ·asmStore64(SB), NOSPLIT|NOFRAME, $0-16
	MOVD p+0(FP), word
	MOVD v+8(FP), val
	LWSYNC
	MOVD val, (word)
	RET
