//go:build gc && !purego

// Two loops, each around three bodies of compare-and-swap. The bodies differ in the
// events that can come between the compare and the store: an interrupt or another CPU
// (MOVES), another CPU (CMPXCHG), nothing (LOCKED).

#include "textflag.h"
#include "go_asm.h"

#define expect	AX // the value that CMPXCHG compares with
#define word	BX // address of the word
#define new	CX
#define me	DX
#define rest	DI // iterations left of the hold
#define left	R8 // attempts left
#define done	R9
#define bad	R10
#define quota	R11
#define tries	R12
#define hold	R13

// A body jumps to fail if the word does not hold expect, else stores new.

#define MOVES \
	CMPQ 0(word), expect; \
	JNE  fail; \
	MOVQ new, 0(word)

#define CMPXCHG \
	CMPXCHGQ new, 0(word); \
	JNE      fail

#define LOCKED \
	LOCK; \
	CMPXCHGQ new, 0(word); \
	JNE      fail

#define ADD(BODY) \
	XORL done, done; \
again: \
	MOVQ 0(word), expect; \
	LEAQ 1(expect), new; \
	BODY; \
	INCQ done; \
fail: \
	DECQ left; \
	JNZ  again

#define SPIN(BODY) \
	XORL done, done; \
	XORL bad, bad; \
next: \
	MOVQ tries, left; \
again: \
	XORL expect, expect; \
	MOVL $1, new; \
	BODY; \
	MOVQ me, guarded_owner(word); \
	INCQ guarded_counter(word); \
	MOVQ hold, rest; \
inside: \
	DECQ rest; \
	JGT  inside; \
	CMPQ me, guarded_owner(word); \
	JEQ  alone; \
	INCQ bad; \
alone: \
	MOVQ $0, guarded_word(word); \
	INCQ done; \
	CMPQ done, quota; \
	JCS  next; \
	JMP  out; \
fail: \
	DECQ left; \
	JNZ  again; \
out:

// func addMoves(p *uint64, attempts uint64) (won uint64)
TEXT ·addMoves(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ p+0(FP), word
	MOVQ attempts+8(FP), left
	ADD(MOVES)
	MOVQ done, won+16(FP)
	RET

// func addCmpxchg(p *uint64, attempts uint64) (won uint64)
TEXT ·addCmpxchg(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ p+0(FP), word
	MOVQ attempts+8(FP), left
	ADD(CMPXCHG)
	MOVQ done, won+16(FP)
	RET

// func addLocked(p *uint64, attempts uint64) (won uint64)
TEXT ·addLocked(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ p+0(FP), word
	MOVQ attempts+8(FP), left
	ADD(LOCKED)
	MOVQ done, won+16(FP)
	RET

// func lockMoves(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·lockMoves(SB), NOSPLIT|NOFRAME, $0-56
	MOVQ s+0(FP), word
	MOVQ id+8(FP), me
	MOVQ limit+16(FP), quota
	MOVQ patience+24(FP), tries
	MOVQ iterations+32(FP), hold
	SPIN(MOVES)
	MOVQ done, entered+40(FP)
	MOVQ bad, violated+48(FP)
	RET

// func lockCmpxchg(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·lockCmpxchg(SB), NOSPLIT|NOFRAME, $0-56
	MOVQ s+0(FP), word
	MOVQ id+8(FP), me
	MOVQ limit+16(FP), quota
	MOVQ patience+24(FP), tries
	MOVQ iterations+32(FP), hold
	SPIN(CMPXCHG)
	MOVQ done, entered+40(FP)
	MOVQ bad, violated+48(FP)
	RET

// func lockLocked(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·lockLocked(SB), NOSPLIT|NOFRAME, $0-56
	MOVQ s+0(FP), word
	MOVQ id+8(FP), me
	MOVQ limit+16(FP), quota
	MOVQ patience+24(FP), tries
	MOVQ iterations+32(FP), hold
	SPIN(LOCKED)
	MOVQ done, entered+40(FP)
	MOVQ bad, violated+48(FP)
	RET
