//go:build gc && !purego

// Peterson's lock for two threads (Information Processing Letters 12, 1981), without and
// with a fence between the stores that announce an entry and the loads that check for the
// other thread. guarded_word is the turn. After each entry a thread stays outside for up
// to 1023 iterations of an empty loop: only when both come from outside can both fail to
// see each other.

#include "textflag.h"
#include "go_asm.h"

#define shared	BX
#define flag	CX // address of my flag
#define rival	DX
#define me	SI
#define other	DI // 3 - me
#define left	R8 // polls left
#define done	R9
#define bad	R10
#define quota	R11
#define tries	R12
#define hold	R13
#define rest	AX

#define NO_FENCE

#define PETERSON(FENCE) \
	XORL done, done; \
	XORL bad, bad; \
	MOVL $3, other; \
	SUBQ me, other; \
next: \
	MOVQ tries, left; \
	MOVQ $1, 0(flag); \
	MOVQ other, guarded_word(shared); \
	FENCE; \
poll: \
	CMPQ 0(rival), $0; \
	JEQ  enter; \
	CMPQ guarded_word(shared), other; \
	JNE  enter; \
	DECQ left; \
	JNZ  poll; \
	MOVQ $0, 0(flag); \
	JMP  out; \
enter: \
	MOVQ me, guarded_owner(shared); \
	INCQ guarded_counter(shared); \
	MOVQ hold, rest; \
inside: \
	DECQ rest; \
	JGT  inside; \
	CMPQ me, guarded_owner(shared); \
	JEQ  alone; \
	INCQ bad; \
alone: \
	MOVQ $0, 0(flag); \
	INCQ done; \
	MOVQ done, rest; \
	ANDQ $1023, rest; \
outside: \
	DECQ rest; \
	JGT  outside; \
	CMPQ done, quota; \
	JCS  next; \
out:

// func petersonPlain(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonPlain(SB), NOSPLIT|NOFRAME, $0-72
	MOVQ s+0(FP), shared
	MOVQ mine+8(FP), flag
	MOVQ theirs+16(FP), rival
	MOVQ id+24(FP), me
	MOVQ limit+32(FP), quota
	MOVQ patience+40(FP), tries
	MOVQ iterations+48(FP), hold
	PETERSON(NO_FENCE)
	MOVQ done, entered+56(FP)
	MOVQ bad, violated+64(FP)
	RET

// func petersonFenced(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonFenced(SB), NOSPLIT|NOFRAME, $0-72
	MOVQ s+0(FP), shared
	MOVQ mine+8(FP), flag
	MOVQ theirs+16(FP), rival
	MOVQ id+24(FP), me
	MOVQ limit+32(FP), quota
	MOVQ patience+40(FP), tries
	MOVQ iterations+48(FP), hold
	PETERSON(MFENCE)
	MOVQ done, entered+56(FP)
	MOVQ bad, violated+64(FP)
	RET
