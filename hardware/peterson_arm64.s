//go:build gc && !purego

// Peterson's lock for two threads (Information Processing Letters 12, 1981): with nothing
// between its accesses, with a fence wherever their order counts, and with store-release
// and load-acquire. guarded_word is the turn. After each entry a thread stays outside for
// up to 1023 iterations of an empty loop: only when both come from outside can both fail
// to see each other.
//
// amd64 needs one fence, between the stores and the loads. Here the flag must also come
// before the turn, the loads before the guarded data, and the guarded data before the
// flag is cleared.

#include "textflag.h"
#include "go_asm.h"

#define shared	R0
#define flag	R1 // address of my flag
#define rival	R2 // address of the other's
#define turn	R3 // address of the turn
#define me	R4
#define other	R5 // 3 - me
#define left	R6 // polls left
#define done	R7
#define bad	R8
#define quota	R9
#define tries	R10
#define hold	R11
#define rest	R12
#define seen	R13
#define unit	R14 // 1

#define NO_FENCE
#define FULL_FENCE	DMB $0xb // ISH

#define PLAIN_STORE(value, at)	MOVD value, (at)
#define RELEASE_STORE(value, at)	STLR value, (at)
#define PLAIN_LOAD(at, value)	MOVD (at), value
#define ACQUIRE_LOAD(at, value)	LDAR (at), value

#define PETERSON(STORE, LOAD, FENCE) \
	MOVD ZR, done; \
	MOVD ZR, bad; \
	MOVD $1, unit; \
	MOVD $3, other; \
	SUB  me, other; \
	ADD  $guarded_word, shared, turn; \
next: \
	MOVD tries, left; \
	STORE(unit, flag); \
	FENCE; \
	STORE(other, turn); \
	FENCE; \
poll: \
	LOAD(rival, seen); \
	CBZ  seen, enter; \
	LOAD(turn, seen); \
	CMP  other, seen; \
	BNE  enter; \
	SUBS $1, left; \
	BNE  poll; \
	STORE(ZR, flag); \
	B    out; \
enter: \
	FENCE; \
	MOVD me, guarded_owner(shared); \
	MOVD guarded_counter(shared), seen; \
	ADD  $1, seen; \
	MOVD seen, guarded_counter(shared); \
	MOVD hold, rest; \
inside: \
	SUBS $1, rest; \
	BGT  inside; \
	MOVD guarded_owner(shared), seen; \
	CMP  me, seen; \
	BEQ  alone; \
	ADD  $1, bad; \
alone: \
	FENCE; \
	STORE(ZR, flag); \
	ADD  $1, done; \
	AND  $1023, done, rest; \
outside: \
	SUBS $1, rest; \
	BGT  outside; \
	CMP  quota, done; \
	BLO  next; \
out:

// func petersonPlain(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonPlain(SB), NOSPLIT|NOFRAME, $0-72
	MOVD s+0(FP), shared
	MOVD mine+8(FP), flag
	MOVD theirs+16(FP), rival
	MOVD id+24(FP), me
	MOVD limit+32(FP), quota
	MOVD patience+40(FP), tries
	MOVD iterations+48(FP), hold
	PETERSON(PLAIN_STORE, PLAIN_LOAD, NO_FENCE)
	MOVD done, entered+56(FP)
	MOVD bad, violated+64(FP)
	RET

// func petersonFenced(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonFenced(SB), NOSPLIT|NOFRAME, $0-72
	MOVD s+0(FP), shared
	MOVD mine+8(FP), flag
	MOVD theirs+16(FP), rival
	MOVD id+24(FP), me
	MOVD limit+32(FP), quota
	MOVD patience+40(FP), tries
	MOVD iterations+48(FP), hold
	PETERSON(PLAIN_STORE, PLAIN_LOAD, FULL_FENCE)
	MOVD done, entered+56(FP)
	MOVD bad, violated+64(FP)
	RET

// func petersonRelease(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonRelease(SB), NOSPLIT|NOFRAME, $0-72
	MOVD s+0(FP), shared
	MOVD mine+8(FP), flag
	MOVD theirs+16(FP), rival
	MOVD id+24(FP), me
	MOVD limit+32(FP), quota
	MOVD patience+40(FP), tries
	MOVD iterations+48(FP), hold
	PETERSON(RELEASE_STORE, ACQUIRE_LOAD, NO_FENCE)
	MOVD done, entered+56(FP)
	MOVD bad, violated+64(FP)
	RET
