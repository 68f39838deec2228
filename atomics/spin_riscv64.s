//go:build gc && !purego && !systematic

#include "textflag.h"

#define left	A0 // hints still to execute

// PAUSE of the Zihintpause extension, which the assembler does not support. It is a FENCE
// that orders nothing; a CPU without the extension executes it as such.
#define PAUSE	WORD $0x0100000f

// func pause(n uint32)
//
//	for ; n != 0; n-- { PAUSE }
TEXT ·pause(SB), NOSPLIT|NOFRAME, $0-4
	MOVWU n+0(FP), left
	BEQZ  left, done

again:
	PAUSE
	ADD  $-1, left
	BNEZ left, again

done:
	RET
