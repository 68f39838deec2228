//go:build gc && (go1.28 || callrelease) && !purego && !race && !systematic

#include "textflag.h"

#define word	BX // address of the word
#define val	AX // its new value

// func storeRelease32(p *uint32, v uint32)
//
//	*p = v, visible to other CPUs after every store before it
TEXT ·storeRelease32(SB), NOSPLIT|NOFRAME, $0-12
	MOVQ p+0(FP), word
	MOVL v+8(FP), val
	MOVL val, 0(word)
	RET

// func storeRelease64(p *atomic.Uint64, v uint64)
//
//	*p = v, visible to other CPUs after every store before it
TEXT ·storeRelease64(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), word
	MOVQ v+8(FP), val
	MOVQ val, 0(word)
	RET
