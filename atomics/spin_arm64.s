//go:build gc && !purego && !systematic

#include "textflag.h"

#define left	R0 // hints still to execute

// func pause(n uint32)
//
//	for ; n != 0; n-- { ISB }
TEXT ·pause(SB), NOSPLIT|NOFRAME, $0-4
	MOVWU n+0(FP), left
	CBZW  left, done

again:
	ISB  $15
	SUBW $1, left, left
	CBNZW left, again

done:
	RET
