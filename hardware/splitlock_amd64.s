//go:build gc && !purego

// Three ways to add one to eight bytes at an address, which need not be aligned: amd64
// allows that even with LOCK. n is not 0.

#include "textflag.h"

#define old	AX
#define at	BX
#define new	CX
#define left	DX

// func addXaddLocked(p *byte, n uint64)
TEXT ·addXaddLocked(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), at
	MOVQ n+8(FP), left

again:
	MOVL $1, old
	LOCK
	XADDQ old, 0(at)
	DECQ left
	JNZ  again
	RET

// func addCmpxchgLocked(p *byte, n uint64)
//
//	old = *p; do { CAS(p, old, old+1) } while (--n): it fails only if another
//	thread writes there, and then old is the value that CMPXCHG found
TEXT ·addCmpxchgLocked(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), at
	MOVQ n+8(FP), left
	MOVQ 0(at), old

again:
	LEAQ 1(old), new
	LOCK
	CMPXCHGQ new, 0(at)
	CMOVQEQ  new, old
	DECQ left
	JNZ  again
	RET

// func addXadd(p *byte, n uint64)
TEXT ·addXadd(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), at
	MOVQ n+8(FP), left

again:
	MOVL $1, old
	XADDQ old, 0(at)
	DECQ left
	JNZ  again
	RET
