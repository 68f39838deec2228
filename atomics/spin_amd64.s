//go:build gc && !purego && !systematic

#include "textflag.h"

#define left	CX // hints still to execute

// func pause(n uint32)
//
//	for ; n != 0; n-- { PAUSE }
TEXT ·pause(SB), NOSPLIT|NOFRAME, $0-4
	MOVL  n+0(FP), left
	TESTL left, left
	JZ    done

again:
	PAUSE
	DECL left
	JNZ  again

done:
	RET
