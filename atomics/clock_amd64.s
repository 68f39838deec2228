//go:build gc && !purego

#include "textflag.h"

// func ticks() uint64
//
//	return TSC
TEXT ·ticks(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC // high half in DX, low half in AX
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
