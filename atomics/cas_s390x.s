//go:build gc && !purego

// CS serializes: it stays in order with every access before and after it. LAA does so for
// its own word only; SYNC (BCR 14, 0) orders the other accesses. No instruction swaps, so
// CS is retried. Loads and stores are plain: the architecture may reorder only a store
// and a load after it.

#include "textflag.h"

#define word	R2 // address of the word
#define expect	R3 // the value that CS compares with; CS leaves the old value there
#define val	R4 // operand, or the value to write
#define seen	R5 // the value that was there
#define result	R5
#define one	R6

// func asmCAS32(p *uint32, old, new uint32) (swapped bool)
//
//	atomically { if *p == old { *p = new; return true }; return false }
TEXT ·asmCAS32(SB), NOSPLIT|NOFRAME, $0-17
	MOVD p+0(FP), word
	MOVWZ old+8(FP), expect
	MOVWZ new+12(FP), val
	MOVD $0, result
	MOVD $1, one
	CS expect, val, 0(word)
	MOVDEQ one, result
	MOVB result, swapped+16(FP)
	RET

// func asmCAS64(p *uint64, old, new uint64) (swapped bool)
//
//	atomically { if *p == old { *p = new; return true }; return false }
TEXT ·asmCAS64(SB), NOSPLIT|NOFRAME, $0-25
	MOVD p+0(FP), word
	MOVD old+8(FP), expect
	MOVD new+16(FP), val
	MOVD $0, result
	MOVD $1, one
	CSG expect, val, 0(word)
	MOVDEQ one, result
	MOVB result, swapped+24(FP)
	RET

// func asmSwap32(p *uint32, new uint32) (old uint32)
//
//	expect = *p
//	while !compareAndSwap(*p, &expect, new) {}
//	return expect
TEXT ·asmSwap32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD p+0(FP), word
	MOVWZ new+8(FP), val
	MOVWZ 0(word), expect

again:
	CS expect, val, 0(word) // if not equal, expect = *p
	BNE again
	MOVW expect, old+16(FP)
	RET

// func asmSwap64(p *uint64, new uint64) (old uint64)
//
//	as asmSwap32
TEXT ·asmSwap64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD new+8(FP), val
	MOVD 0(word), expect

again:
	CSG expect, val, 0(word) // if not equal, expect = *p
	BNE again
	MOVD expect, old+16(FP)
	RET

// func asmAdd32(p *uint32, delta uint32) (new uint32)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·asmAdd32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD p+0(FP), word
	MOVWZ delta+8(FP), val
	LAA val, seen, 0(word)
	SYNC
	ADD val, seen
	MOVW seen, new+16(FP)
	RET

// func asmAdd64(p *uint64, delta uint64) (new uint64)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·asmAdd64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD delta+8(FP), val
	LAAG val, seen, 0(word)
	SYNC
	ADD val, seen
	MOVD seen, new+16(FP)
	RET

// func asmLoad32(p *uint32) (v uint32)
//
//	return *p; z/Architecture lets no later access pass an earlier load
TEXT ·asmLoad32(SB), NOSPLIT|NOFRAME, $0-12
	MOVD p+0(FP), word
	MOVWZ 0(word), val
	MOVW val, v+8(FP)
	RET

// func asmLoad64(p *uint64) (v uint64)
//
//	return *p; z/Architecture lets no later access pass an earlier load
TEXT ·asmLoad64(SB), NOSPLIT|NOFRAME, $0-16
	MOVD p+0(FP), word
	MOVD 0(word), val
	MOVD val, v+8(FP)
	RET

// func asmStore32(p *uint32, v uint32)
//
//	*p = v; z/Architecture lets no store pass an earlier access
TEXT ·asmStore32(SB), NOSPLIT|NOFRAME, $0-12
	MOVD p+0(FP), word
	MOVWZ v+8(FP), val
	MOVW val, 0(word)
	RET

// func asmStore64(p *uint64, v uint64)
//
//	*p = v; z/Architecture lets no store pass an earlier access
TEXT ·asmStore64(SB), NOSPLIT|NOFRAME, $0-16
	MOVD p+0(FP), word
	MOVD v+8(FP), val
	MOVD val, 0(word)
	RET
