//go:build gc && !purego

// Two loops, each around three bodies of compare-and-swap. The bodies differ in the
// events that can come between the compare and the store: an interrupt or another CPU
// (MOVES); nothing, because the store fails then (EXCLUSIVE); nothing (CASAL). All free
// the lock by a store-release, so that only the acquisition differs.

#include "textflag.h"
#include "go_asm.h"

#define word	R0 // address of the word
#define expect	R1
#define new	R2
#define seen	R3 // the loaded value
#define failed	R4 // STLXR: 1 if it did not store
#define me	R5
#define left	R6 // attempts left
#define done	R7
#define bad	R8
#define quota	R9
#define tries	R10
#define hold	R11
#define rest	R12 // iterations left of the hold

// A body jumps to fail if the word does not hold expect, else stores new. The store of
// EXCLUSIVE may also fail without a reason: then the attempt does not count as won.

#define MOVES \
	MOVD (word), seen; \
	CMP  expect, seen; \
	BNE  fail; \
	MOVD new, (word)

#define EXCLUSIVE \
	LDAXR (word), seen; \
	CMP   expect, seen; \
	BNE   fail; \
	STLXR new, (word), failed; \
	CBNZW failed, fail

#define CASAL \
	MOVD   expect, seen; \
	CASALD seen, (word), new; \
	CMP    expect, seen; \
	BNE    fail

#define COUNT(BODY) \
	MOVD ZR, done; \
again: \
	MOVD (word), expect; \
	ADD  $1, expect, new; \
	BODY; \
	ADD  $1, done; \
fail: \
	SUBS $1, left; \
	BNE  again

#define SPIN(BODY) \
	MOVD ZR, done; \
	MOVD ZR, bad; \
	MOVD ZR, expect; \
	MOVD $1, new; \
next: \
	MOVD tries, left; \
again: \
	BODY; \
	MOVD me, guarded_owner(word); \
	MOVD guarded_counter(word), seen; \
	ADD  $1, seen; \
	MOVD seen, guarded_counter(word); \
	MOVD hold, rest; \
inside: \
	SUBS $1, rest; \
	BGT  inside; \
	MOVD guarded_owner(word), seen; \
	CMP  me, seen; \
	BEQ  alone; \
	ADD  $1, bad; \
alone: \
	STLR ZR, (word); \
	ADD  $1, done; \
	CMP  quota, done; \
	BLO  next; \
	B    out; \
fail: \
	SUBS $1, left; \
	BNE  again; \
out:

// func addMoves(p *uint64, attempts uint64) (won uint64)
TEXT ·addMoves(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD attempts+8(FP), left
	COUNT(MOVES)
	MOVD done, won+16(FP)
	RET

// func addExclusive(p *uint64, attempts uint64) (won uint64)
TEXT ·addExclusive(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD attempts+8(FP), left
	COUNT(EXCLUSIVE)
	MOVD done, won+16(FP)
	RET

// func addCasal(p *uint64, attempts uint64) (won uint64)
TEXT ·addCasal(SB), NOSPLIT|NOFRAME, $0-24
	MOVD p+0(FP), word
	MOVD attempts+8(FP), left
	COUNT(CASAL)
	MOVD done, won+16(FP)
	RET

// func lockMoves(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·lockMoves(SB), NOSPLIT|NOFRAME, $0-56
	MOVD s+0(FP), word
	MOVD id+8(FP), me
	MOVD limit+16(FP), quota
	MOVD patience+24(FP), tries
	MOVD iterations+32(FP), hold
	SPIN(MOVES)
	MOVD done, entered+40(FP)
	MOVD bad, violated+48(FP)
	RET

// func lockExclusive(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·lockExclusive(SB), NOSPLIT|NOFRAME, $0-56
	MOVD s+0(FP), word
	MOVD id+8(FP), me
	MOVD limit+16(FP), quota
	MOVD patience+24(FP), tries
	MOVD iterations+32(FP), hold
	SPIN(EXCLUSIVE)
	MOVD done, entered+40(FP)
	MOVD bad, violated+48(FP)
	RET

// func lockCasal(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·lockCasal(SB), NOSPLIT|NOFRAME, $0-56
	MOVD s+0(FP), word
	MOVD id+8(FP), me
	MOVD limit+16(FP), quota
	MOVD patience+24(FP), tries
	MOVD iterations+32(FP), hold
	SPIN(CASAL)
	MOVD done, entered+40(FP)
	MOVD bad, violated+48(FP)
	RET
