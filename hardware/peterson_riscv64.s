//go:build gc && !purego

// Peterson's lock for two threads (Information Processing Letters 12, 1981), with nothing
// between its accesses and with a fence wherever their order counts. guarded_word is the
// turn. After each entry a thread stays outside for up to 1023 iterations of an empty
// loop: only when both come from outside can both fail to see each other.
//
// amd64 needs one fence, between the stores and the loads. Here the flag must also come
// before the turn, the loads before the guarded data, and the guarded data before the
// flag is cleared.

#include "textflag.h"
#include "go_asm.h"

#define shared	X5
#define flag	X6 // address of my flag
#define rival	X7 // address of the other's
#define me	X8
#define other	X9 // 3 - me
#define left	X10 // polls left
#define done	X11
#define bad	X12
#define quota	X13
#define tries	X14
#define hold	X15
#define rest	X16
#define seen	X17
#define unit	X18 // 1

#define NO_FENCE

#define PETERSON(BARRIER) \
	MOV  ZERO, done; \
	MOV  ZERO, bad; \
	MOV  $1, unit; \
	MOV  $3, other; \
	SUB  me, other; \
next: \
	MOV  tries, left; \
	MOV  unit, (flag); \
	BARRIER; \
	MOV  other, guarded_word(shared); \
	BARRIER; \
poll: \
	MOV  (rival), seen; \
	BEQ  seen, ZERO, enter; \
	MOV  guarded_word(shared), seen; \
	BNE  seen, other, enter; \
	SUB  $1, left; \
	BNE  left, ZERO, poll; \
	MOV  ZERO, (flag); \
	JMP  out; \
enter: \
	BARRIER; \
	MOV  me, guarded_owner(shared); \
	MOV  guarded_counter(shared), seen; \
	ADD  $1, seen; \
	MOV  seen, guarded_counter(shared); \
	MOV  hold, rest; \
inside: \
	SUB  $1, rest; \
	BLT  ZERO, rest, inside; \
	MOV  guarded_owner(shared), seen; \
	BEQ  me, seen, alone; \
	ADD  $1, bad; \
alone: \
	BARRIER; \
	MOV  ZERO, (flag); \
	ADD  $1, done; \
	AND  $1023, done, rest; \
outside: \
	SUB  $1, rest; \
	BLT  ZERO, rest, outside; \
	BLTU done, quota, next; \
out:

// func petersonPlain(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonPlain(SB), NOSPLIT|NOFRAME, $0-72
	MOV s+0(FP), shared
	MOV mine+8(FP), flag
	MOV theirs+16(FP), rival
	MOV id+24(FP), me
	MOV limit+32(FP), quota
	MOV patience+40(FP), tries
	MOV iterations+48(FP), hold
	PETERSON(NO_FENCE)
	MOV done, entered+56(FP)
	MOV bad, violated+64(FP)
	RET

// func petersonFenced(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
TEXT ·petersonFenced(SB), NOSPLIT|NOFRAME, $0-72
	MOV s+0(FP), shared
	MOV mine+8(FP), flag
	MOV theirs+16(FP), rival
	MOV id+24(FP), me
	MOV limit+32(FP), quota
	MOV patience+40(FP), tries
	MOV iterations+48(FP), hold
	PETERSON(FENCE)
	MOV done, entered+56(FP)
	MOV bad, violated+64(FP)
	RET
