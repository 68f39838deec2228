//go:build gc && !purego

#include "textflag.h"

#define word	R0 // address of the word
#define same	R1 // waits continue while the word has this value
#define waits	R2 // waits left
#define seen	R3 // the last loaded value
#define deadline	R4
#define ticks	R5 // of CNTVCT_EL0

// Waits for an event until CNTVCT_EL0 is R4. The assembler does not support it.
#define WFET_R4	WORD $0xd5031004

// func yield(p *atomics.Uint64, v, n uint64) (last uint64)
//
//	do { if (last = *p) != v { break }; YIELD } while --n != 0
//	return last = *p
TEXT ·yield(SB), NOSPLIT|NOFRAME, $0-32
	MOVD p+0(FP), word
	MOVD v+8(FP), same
	MOVD n+16(FP), waits

again:
	LDAR (word), seen
	CMP  same, seen
	BNE  done
	YIELD
	SUB  $1, waits, waits
	CBNZ waits, again
	LDAR (word), seen

done:
	MOVD seen, last+24(FP)
	RET

// func wfe(p *atomics.Uint64, v, n uint64) (last uint64)
//
//	SEVL; WFE: clears an earlier event
//	do {
//		if (last = load exclusive(*p)) != v { break }
//		wait for an event: a store to the line is one
//	} while --n != 0
//	return last = *p
TEXT ·wfe(SB), NOSPLIT|NOFRAME, $0-32
	MOVD p+0(FP), word
	MOVD v+8(FP), same
	MOVD n+16(FP), waits
	SEVL
	WFE

again:
	LDAXR (word), seen
	CMP   same, seen
	BNE   done
	WFE
	SUB   $1, waits, waits
	CBNZ  waits, again
	LDAR  (word), seen

done:
	CLREX
	MOVD seen, last+24(FP)
	RET

// func wfet(p *atomics.Uint64, v, n, most uint64) (last uint64)
//
//	as wfe, each wait for at most most ticks of CNTVCT_EL0
TEXT ·wfet(SB), NOSPLIT|NOFRAME, $0-40
	MOVD p+0(FP), word
	MOVD v+8(FP), same
	MOVD n+16(FP), waits
	MOVD most+24(FP), ticks
	SEVL
	WFE

again:
	LDAXR (word), seen
	CMP   same, seen
	BNE   done
	MRS   CNTVCT_EL0, deadline
	ADD   ticks, deadline, deadline
	WFET_R4
	SUB   $1, waits, waits
	CBNZ  waits, again
	LDAR  (word), seen

done:
	CLREX
	MOVD seen, last+32(FP)
	RET
