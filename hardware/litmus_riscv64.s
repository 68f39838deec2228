//go:build gc && !purego

// The threads of the litmus tests: two accesses each, in one iteration of a loop in
// which two threads meet. Waiting is bounded, because the Go scheduler cannot
// interrupt it and may have stopped the other thread.

#include "textflag.h"
#include "go_asm.h"

#define v0	X5
#define one	X6 // address of the line that a body accesses first
#define two	X7
#define notes	X8
#define i	X9
#define there	X10
#define here	X11
#define end	X12
#define wait	X13 // polls left
#define v1	X14
#define unit	X15 // 1
#define at	X16

#define maxWait $1000000

// A body leaves the loaded values in v0: a 1 for each load that saw the store. FENCE
// orders all loads and stores before it with all after it.

#define STORE_LOAD \
	MOV unit, (one); \
	MOV (two), v0

#define STORE_FENCE_LOAD \
	MOV   unit, (one); \
	FENCE; \
	MOV   (two), v0

#define STORE_STORE \
	MOV unit, (one); \
	MOV unit, (two); \
	MOV ZERO, v0

#define STORE_FENCE_STORE \
	MOV   unit, (one); \
	FENCE; \
	MOV   unit, (two); \
	MOV   ZERO, v0

#define LOAD_LOAD \
	MOV (one), v0; \
	MOV (two), v1; \
	SLL $1, v1; \
	ADD v1, v0

#define LOAD_FENCE_LOAD \
	MOV   (one), v0; \
	FENCE; \
	MOV   (two), v1; \
	SLL   $1, v1; \
	ADD   v1, v0

#define LOAD_STORE \
	MOV (one), v0; \
	MOV unit, (two)

#define LOAD_FENCE_STORE \
	MOV   (one), v0; \
	FENCE; \
	MOV   unit, (two)

// Iteration i starts when both threads have written i to their words. These accesses need
// no order: no iteration reads the data of another one.

#define LITMUS(BODY) \
	MOV  $1, unit; \
	SLL  $6, i, at; \
	ADD  at, one; \
	ADD  at, two; \
	SLL  $3, i, at; \
	ADD  at, notes; \
again: \
	MOV  i, (here); \
	MOV  maxWait, wait; \
poll: \
	MOV  (there), v0; \
	BGEU v0, i, both; \
	SUB  $1, wait; \
	BNE  wait, ZERO, poll; \
	JMP  out; \
both: \
	BODY; \
	MOV  v0, (notes); \
	ADD  $8, notes; \
	ADD  $(1<<6), one; \
	ADD  $(1<<6), two; \
	ADD  $1, i; \
	BLTU i, end, again; \
out:

// func storeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(STORE_LOAD)
	MOV i, next+56(FP)
	RET

// func storeFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeFenceLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(STORE_FENCE_LOAD)
	MOV i, next+56(FP)
	RET

// func storeStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeStore(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(STORE_STORE)
	MOV i, next+56(FP)
	RET

// func storeFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeFenceStore(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(STORE_FENCE_STORE)
	MOV i, next+56(FP)
	RET

// func loadLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(LOAD_LOAD)
	MOV i, next+56(FP)
	RET

// func loadFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadFenceLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(LOAD_FENCE_LOAD)
	MOV i, next+56(FP)
	RET

// func loadStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadStore(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(LOAD_STORE)
	MOV i, next+56(FP)
	RET

// func loadFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadFenceStore(SB), NOSPLIT|NOFRAME, $0-64
	MOV first+0(FP), one
	MOV second+8(FP), two
	MOV seen+16(FP), notes
	MOV mine+24(FP), here
	MOV theirs+32(FP), there
	MOV from+40(FP), i
	MOV to+48(FP), end
	LITMUS(LOAD_FENCE_STORE)
	MOV i, next+56(FP)
	RET
