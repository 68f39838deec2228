//go:build gc && !purego

// Two families: loops of LDAXR and STLXR, which every arm64 CPU has, and the single
// instructions of FEAT_LSE. A, acquire, is on the load and L, release, on the store, so
// the order is as in sync/atomic.

#include "textflag.h"

#define word	R0 // address of the word
#define expect	R1 // the value to find
#define val	R2 // operand, or the value to write
#define seen	R3 // the value that was there
#define failed	R4 // STLXR: 1 if the reservation was lost, 0 if it stored

// func asmCAS32(p *uint32, old, new uint32) (swapped bool)
//
//	for {
//		seen = reserve(*p)
//		if seen != old { return false }
//		if store(*p, new) { return true }
//	}
TEXT ·asmCAS32(SB), NOSPLIT|NOFRAME, $0-17
	MOVD  p+0(FP), word
	MOVWU old+8(FP), expect
	MOVWU new+12(FP), val

again:
	LDAXRW (word), seen
	CMPW   expect, seen
	BNE    done
	STLXRW val, (word), failed
	CBNZW  failed, again

done:
	CSET EQ, R5 // STLXR and CBNZW leave the flags alone
	MOVB R5, swapped+16(FP)
	RET

// func asmCAS64(p *uint64, old, new uint64) (swapped bool)
//
//	as asmCAS32
TEXT ·asmCAS64(SB), NOSPLIT|NOFRAME, $0-25
	MOVD p+0(FP), word
	MOVD old+8(FP), expect
	MOVD new+16(FP), val

again:
	LDAXR (word), seen
	CMP   expect, seen
	BNE   done
	STLXR val, (word), failed
	CBNZW failed, again

done:
	CSET EQ, R5 // STLXR and CBNZW leave the flags alone
	MOVB R5, swapped+24(FP)
	RET

// func asmSwap32(p *uint32, new uint32) (old uint32)
//
//	do { old = reserve(*p) } while !store(*p, new)
TEXT ·asmSwap32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD  p+0(FP), word
	MOVWU new+8(FP), val

again:
	LDAXRW (word), seen
	STLXRW val, (word), failed
	CBNZW  failed, again
	MOVW   seen, old+16(FP)
	RET

// func asmSwap64(p *uint64, new uint64) (old uint64)
//
//	do { old = reserve(*p) } while !store(*p, new)
TEXT ·asmSwap64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD new+8(FP), val

again:
	LDAXR (word), seen
	STLXR val, (word), failed
	CBNZW failed, again
	MOVD  seen, old+16(FP)
	RET

// func asmAdd32(p *uint32, delta uint32) (new uint32)
//
//	do { new = reserve(*p) + delta } while !store(*p, new)
TEXT ·asmAdd32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD  p+0(FP), word
	MOVWU delta+8(FP), val

again:
	LDAXRW (word), seen
	ADDW   val, seen
	STLXRW seen, (word), failed
	CBNZW  failed, again
	MOVW   seen, new+16(FP)
	RET

// func asmAdd64(p *uint64, delta uint64) (new uint64)
//
//	do { new = reserve(*p) + delta } while !store(*p, new)
TEXT ·asmAdd64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD delta+8(FP), val

again:
	LDAXR (word), seen
	ADD   val, seen
	STLXR seen, (word), failed
	CBNZW failed, again
	MOVD  seen, new+16(FP)
	RET

// func casal32(p *uint32, old, new uint32) (swapped bool)
//
//	atomically { seen = *p; if seen == old { *p = new } }; return seen == old
TEXT ·casal32(SB), NOSPLIT|NOFRAME, $0-17
	MOVD   p+0(FP), word
	MOVWU  old+8(FP), expect
	MOVWU  new+12(FP), val
	MOVD   expect, seen
	CASALW seen, (word), val
	CMPW   expect, seen
	CSET   EQ, R5
	MOVB   R5, swapped+16(FP)
	RET

// func casal64(p *uint64, old, new uint64) (swapped bool)
//
//	atomically { seen = *p; if seen == old { *p = new } }; return seen == old
TEXT ·casal64(SB), NOSPLIT|NOFRAME, $0-25
	MOVD   p+0(FP), word
	MOVD   old+8(FP), expect
	MOVD   new+16(FP), val
	MOVD   expect, seen
	CASALD seen, (word), val
	CMP    expect, seen
	CSET   EQ, R5
	MOVB   R5, swapped+24(FP)
	RET

// func swpal32(p *uint32, new uint32) (old uint32)
//
//	atomically { old = *p; *p = new }
TEXT ·swpal32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD   p+0(FP), word
	MOVWU  new+8(FP), val
	SWPALW val, (word), seen
	MOVW   seen, old+16(FP)
	RET

// func swpal64(p *uint64, new uint64) (old uint64)
//
//	atomically { old = *p; *p = new }
TEXT ·swpal64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD   p+0(FP), word
	MOVD   new+8(FP), val
	SWPALD val, (word), seen
	MOVD   seen, old+16(FP)
	RET

// func ldaddal32(p *uint32, delta uint32) (new uint32)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·ldaddal32(SB), NOSPLIT|NOFRAME, $0-20
	MOVD     p+0(FP), word
	MOVWU    delta+8(FP), val
	LDADDALW val, (word), seen
	ADDW     val, seen
	MOVW     seen, new+16(FP)
	RET

// func ldaddal64(p *uint64, delta uint64) (new uint64)
//
//	atomically { seen = *p; *p += delta }; return seen + delta
TEXT ·ldaddal64(SB), NOSPLIT|NOFRAME, $0-24
	MOVD     p+0(FP), word
	MOVD     delta+8(FP), val
	LDADDALD val, (word), seen
	ADD      val, seen
	MOVD     seen, new+16(FP)
	RET

// func asmLoad32(p *uint32) (v uint32)
//
//	return *p, before every access after it
TEXT ·asmLoad32(SB), NOSPLIT|NOFRAME, $0-12
	MOVD  p+0(FP), word
	LDARW (word), val
	MOVW  val, v+8(FP)
	RET

// func asmLoad64(p *uint64) (v uint64)
//
//	return *p, before every access after it
TEXT ·asmLoad64(SB), NOSPLIT|NOFRAME, $0-16
	MOVD p+0(FP), word
	LDAR (word), val
	MOVD val, v+8(FP)
	RET

// func asmStore32(p *uint32, v uint32)
//
//	*p = v, after every access before it
TEXT ·asmStore32(SB), NOSPLIT|NOFRAME, $0-12
	MOVD  p+0(FP), word
	MOVWU v+8(FP), val
	STLRW val, (word)
	RET

// func asmStore64(p *uint64, v uint64)
//
//	*p = v, after every access before it
TEXT ·asmStore64(SB), NOSPLIT|NOFRAME, $0-16
	MOVD p+0(FP), word
	MOVD v+8(FP), val
	STLR val, (word)
	RET
