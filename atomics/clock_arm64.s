//go:build gc && !purego

#include "textflag.h"

// func ticks() uint64
//
//	instruction barrier; return CNTVCT_EL0
TEXT ·ticks(SB), NOSPLIT|NOFRAME, $0-8
	ISB  $15
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func cntfrq() uint64
//
//	return CNTFRQ_EL0
TEXT ·cntfrq(SB), NOSPLIT|NOFRAME, $0-8
	MRS  CNTFRQ_EL0, R0
	MOVD R0, ret+0(FP)
	RET
