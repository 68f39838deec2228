//go:build gc && !purego && !race && !systematic

#include "textflag.h"

#define word	R2 // address of the word
#define same	R3 // polls continue while the word has this value
#define seen	R4 // the last loaded value
#define polls	R5 // polls left
#define rounds	R6 // of the empty loop between two polls

// func pollWhile32(p *uint32, v, n uint32) (last, left uint32)
//
//	do { if (last = *p) != v { break }; 16 empty rounds } while --n != 0
//	return last, n; z/Architecture lets no later access pass an earlier load
TEXT ·pollWhile32(SB), NOSPLIT|NOFRAME, $0-24
	MOVD  p+0(FP), word
	MOVWZ v+8(FP), same
	MOVWZ n+12(FP), polls

again:
	MOVWZ 0(word), seen
	CMPW  seen, same
	BNE   done
	MOVD  $16, rounds

wait:
	BRCTG rounds, wait
	BRCTG polls, again

done:
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
	MOVD 0(word), seen
	CMP  seen, same
	BNE  done
	MOVD $16, rounds

wait:
	BRCTG rounds, wait
	BRCTG polls, again

done:
	MOVD seen, last+24(FP)
	MOVW polls, left+32(FP)
	RET
