//go:build gc && !purego && !race && !systematic

#include "textflag.h"

#define word	A0 // address of the word
#define same	A1 // polls continue while the word has this value
#define seen	A2 // the last loaded value
#define polls	A3 // polls left

// PAUSE of the Zihintpause extension and FENCE R, RW. The assembler does not support
// them.
#define PAUSE	WORD $0x0100000f
#define FENCE_R_RW	WORD $0x0230000f

// func pollWhile32(p *uint32, v, n uint32) (last, left uint32)
//
//	do { if (last = *p) != v { break }; PAUSE } while --n != 0
//	FENCE R, RW; return last, n
TEXT ·pollWhile32(SB), NOSPLIT|NOFRAME, $0-24
	MOV  p+0(FP), word
	MOVW v+8(FP), same
	MOVW n+12(FP), polls

again:
	MOVW (word), seen
	BNE  seen, same, done
	PAUSE
	ADD  $-1, polls
	BNEZ polls, again

done:
	FENCE_R_RW
	MOVW seen, last+16(FP)
	MOVW polls, left+20(FP)
	RET

// func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
//
//	as pollWhile32
TEXT ·pollWhile64(SB), NOSPLIT|NOFRAME, $0-36
	MOV  p+0(FP), word
	MOV  v+8(FP), same
	MOVW n+16(FP), polls

again:
	MOV  (word), seen
	BNE  seen, same, done
	PAUSE
	ADD  $-1, polls
	BNEZ polls, again

done:
	FENCE_R_RW
	MOV  seen, last+24(FP)
	MOVW polls, left+32(FP)
	RET
