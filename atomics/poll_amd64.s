//go:build gc && !purego && !race && !systematic

#include "textflag.h"

#define word	BX // address of the word
#define same	AX // polls continue while the word has this value
#define seen	CX // the last loaded value
#define polls	DX // polls left

// func pollWhile32(p *uint32, v, n uint32) (last, left uint32)
//
//	do { if (last = *p) != v { break }; PAUSE } while --n != 0
//	return last, n; loads are in program order
TEXT ·pollWhile32(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ p+0(FP), word
	MOVL v+8(FP), same
	MOVL n+12(FP), polls

again:
	MOVL 0(word), seen
	CMPL seen, same
	JNE  done
	PAUSE
	DECL polls
	JNZ  again

done:
	MOVL seen, last+16(FP)
	MOVL polls, left+20(FP)
	RET

// func pollWhile64(p *atomic.Uint64, v uint64, n uint32) (last uint64, left uint32)
//
//	as pollWhile32
TEXT ·pollWhile64(SB), NOSPLIT|NOFRAME, $0-36
	MOVQ p+0(FP), word
	MOVQ v+8(FP), same
	MOVL n+16(FP), polls

again:
	MOVQ 0(word), seen
	CMPQ seen, same
	JNE  done
	PAUSE
	DECL polls
	JNZ  again

done:
	MOVQ seen, last+24(FP)
	MOVL polls, left+32(FP)
	RET
