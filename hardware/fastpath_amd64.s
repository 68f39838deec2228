//go:build gc && !purego

#include "textflag.h"

#define word	BX // address of the word
#define free	AX // the value that CMPXCHG compares with
#define taken	CX
#define left	DX // iterations

// func bareLock(p *uint32, n int)
//
// The least that takes and frees a lock on amd64: one locked compare-and-swap
// and one store. The lock is free, so the compare-and-swap always succeeds.
TEXT ·bareLock(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), word
	MOVQ n+8(FP), left
	MOVL $1, taken
again:
	XORL free, free
	LOCK
	CMPXCHGL taken, 0(word)
	MOVL $0, 0(word)
	DECQ left
	JGT  again
	RET
