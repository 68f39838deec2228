//go:build gc && !purego && !race && !systematic

#include "textflag.h"

#define word	R4 // address of the word
#define same	R5 // polls continue while the word has this value
#define seen	R6 // the last loaded value
#define polls	R7 // polls left
#define rounds	R8 // of the empty loop between two polls

#define ACQUIRE	0x14 // the hint of DBAR

// func pollWhile32(p *uint32, v, n uint32) (last, left uint32)
//
//	do { if (last = *p) != v { break }; 16 empty rounds } while --n != 0
//	DBAR acquire; return last, n
TEXT ·pollWhile32(SB), NOSPLIT|NOFRAME, $0-24
	MOVV p+0(FP), word
	MOVW v+8(FP), same
	MOVW n+12(FP), polls

again:
	MOVW (word), seen
	BNE  seen, same, done
	MOVV $16, rounds

wait:
	ADDV $-1, rounds
	BNE  rounds, R0, wait
	ADDV $-1, polls
	BNE  polls, R0, again

done:
	DBAR $ACQUIRE
	MOVW seen, last+16(FP)
	MOVW polls, left+20(FP)
	RET

// func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
//
//	as pollWhile32
TEXT ·pollWhile64(SB), NOSPLIT|NOFRAME, $0-36
	MOVV p+0(FP), word
	MOVV v+8(FP), same
	MOVW n+16(FP), polls

again:
	MOVV (word), seen
	BNE  seen, same, done
	MOVV $16, rounds

wait:
	ADDV $-1, rounds
	BNE  rounds, R0, wait
	ADDV $-1, polls
	BNE  polls, R0, again

done:
	DBAR $ACQUIRE
	MOVV seen, last+24(FP)
	MOVW polls, left+32(FP)
	RET
