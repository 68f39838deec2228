//go:build gc && !purego && !race && !systematic

#include "textflag.h"

#define word	R0 // address of the word
#define same	R1 // polls continue while the word has this value
#define polls	R2 // polls left
#define seen	R3 // the last loaded value

// func pollWhile32(p *uint32, v, n uint32) (last, left uint32)
//
//	do { if (last = load-acquire(*p)) != v { break }; ISB } while --n != 0
//	return last, n
TEXT ·pollWhile32(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVWU v+8(FP), same
	MOVWU n+12(FP), polls

again:
	LDARW (word), seen
	CMPW  same, seen
	BNE   done
	ISB   $15
	SUBW  $1, polls, polls
	CBNZW polls, again

done:
	MOVW seen, last+16(FP)
	MOVW polls, left+20(FP)
	RET

// func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
//
//	as pollWhile32
TEXT ·pollWhile64(SB), NOSPLIT|NOFRAME, $0-36
	MOVD p+0(FP), word
	MOVD v+8(FP), same
	MOVWU n+16(FP), polls

again:
	LDAR  (word), seen
	CMP   same, seen
	BNE   done
	ISB   $15
	SUBW  $1, polls, polls
	CBNZW polls, again

done:
	MOVD seen, last+24(FP)
	MOVW polls, left+32(FP)
	RET
