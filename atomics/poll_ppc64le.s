//go:build gc && !purego && !race && !systematic

#include "textflag.h"

#define word	R3 // address of the word
#define same	R4 // polls continue while the word has this value
#define seen	R5 // the last loaded value
#define polls	R6 // polls left
#define rounds	R7

// HINT is 16 rounds of an empty loop at low priority, which lets the other hardware
// threads of the core go first. Linux gives programs medium-low priority, and the Go
// runtime waits in the same way (Power ISA 3.0 B, book II, section 3.1).
#define HINT \
	OR   R1, R1, R1 \ // low priority
	MOVD $16, rounds \
	MOVD rounds, CTR \
	BC   16, 0, 0(PC) \ // BDNZ to itself
	OR   R6, R6, R6 // medium-low priority

// func pollWhile32(p *uint32, v, n uint32) (last, left uint32)
//
//	do { if (last = *p) != v { break }; HINT } while --n != 0
//	CMP; BNE; ISYNC; return last, n
TEXT ·pollWhile32(SB), NOSPLIT|NOFRAME, $0-24
	MOVD  p+0(FP), word
	MOVWZ v+8(FP), same
	MOVWZ n+12(FP), polls

again:
	MOVWZ (word), seen
	CMPW  seen, same
	BNE   done
	HINT
	SUB   $1, polls
	CMPW  polls, $0
	BNE   again

done:
	CMPW seen, seen, CR7
	BC   4, 30, 1(PC) // BNE CR7 to the next instruction: it waits for the load
	ISYNC // and this waits for the branch
	MOVW seen, last+16(FP)
	MOVW polls, left+20(FP)
	RET

// func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
//
//	as pollWhile32
TEXT ·pollWhile64(SB), NOSPLIT|NOFRAME, $0-36
	MOVD  p+0(FP), word
	MOVD  v+8(FP), same
	MOVWZ n+16(FP), polls

again:
	MOVD (word), seen
	CMP  seen, same
	BNE  done
	HINT
	SUB  $1, polls
	CMPW polls, $0
	BNE  again

done:
	CMP  seen, seen, CR7
	BC   4, 30, 1(PC)
	ISYNC
	MOVD seen, last+24(FP)
	MOVW polls, left+32(FP)
	RET
