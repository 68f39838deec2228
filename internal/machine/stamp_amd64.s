//go:build gc && !purego

#include "textflag.h"

// func stamp() uint64
//
//	wait for all loads ahead; return TSC
TEXT ·stamp(SB), NOSPLIT|NOFRAME, $0-8
	LFENCE
	RDTSC // high half in DX, low half in AX
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
