//go:build gc && !purego

// The threads of the litmus tests: two accesses each, in one iteration of a loop in which
// two threads meet. Waiting is bounded, because the Go scheduler cannot interrupt it and
// may have stopped the other thread.

#include "textflag.h"
#include "go_asm.h"

#define v0	AX
#define one	BX // address of the line that a body accesses first
#define two	CX
#define notes	DX
#define i	SI
#define there	DI
#define here	R8
#define end	R9
#define wait	R10 // polls left
#define v1	R11

#define lineShift $6
#define maxWait $1000000

// A body leaves the loaded values in v0: a 1 for each load that saw the store.

#define STORE_LOAD \
	MOVQ $1, 0(one); \
	MOVQ 0(two), v0

#define STORE_FENCE_LOAD \
	MOVQ $1, 0(one); \
	MFENCE; \
	MOVQ 0(two), v0

#define EXCHANGE_LOAD \
	MOVL $1, v0; \
	XCHGQ v0, 0(one); \
	MOVQ 0(two), v0

#define STORE_STORE \
	MOVQ $1, 0(one); \
	MOVQ $1, 0(two); \
	XORL v0, v0

#define STORE_FENCE_STORE \
	MOVQ $1, 0(one); \
	SFENCE; \
	MOVQ $1, 0(two); \
	XORL v0, v0

#define LOAD_LOAD \
	MOVQ 0(one), v0; \
	MOVQ 0(two), v1; \
	LEAQ (v0)(v1*2), v0

#define LOAD_FENCE_LOAD \
	MOVQ 0(one), v0; \
	LFENCE; \
	MOVQ 0(two), v1; \
	LEAQ (v0)(v1*2), v0

#define LOAD_STORE \
	MOVQ 0(one), v0; \
	MOVQ $1, 0(two)

#define LOAD_FENCE_STORE \
	MOVQ 0(one), v0; \
	MFENCE; \
	MOVQ $1, 0(two)

// Iteration i starts when both threads have written i to their words.

#define LITMUS(BODY) \
	MOVQ i, v0; \
	SHLQ lineShift, v0; \
	ADDQ v0, one; \
	ADDQ v0, two; \
again: \
	MOVQ i, 0(here); \
	MOVL maxWait, wait; \
poll: \
	CMPQ 0(there), i; \
	JCC  both; \
	DECQ wait; \
	JNZ  poll; \
	JMP  out; \
both: \
	BODY; \
	MOVQ v0, 0(notes)(i*8); \
	ADDQ $(1<<6), one; \
	ADDQ $(1<<6), two; \
	INCQ i; \
	CMPQ i, end; \
	JCS  again; \
out:

// func storeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(STORE_LOAD)
	MOVQ i, next+56(FP)
	RET

// func storeFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeFenceLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(STORE_FENCE_LOAD)
	MOVQ i, next+56(FP)
	RET

// func exchangeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·exchangeLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(EXCHANGE_LOAD)
	MOVQ i, next+56(FP)
	RET

// func storeStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(STORE_STORE)
	MOVQ i, next+56(FP)
	RET

// func storeFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeFenceStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(STORE_FENCE_STORE)
	MOVQ i, next+56(FP)
	RET

// func loadLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(LOAD_LOAD)
	MOVQ i, next+56(FP)
	RET

// func loadFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadFenceLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(LOAD_FENCE_LOAD)
	MOVQ i, next+56(FP)
	RET

// func loadStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(LOAD_STORE)
	MOVQ i, next+56(FP)
	RET

// func loadFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadFenceStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVQ first+0(FP), one
	MOVQ second+8(FP), two
	MOVQ seen+16(FP), notes
	MOVQ mine+24(FP), here
	MOVQ theirs+32(FP), there
	MOVQ from+40(FP), i
	MOVQ to+48(FP), end
	LITMUS(LOAD_FENCE_STORE)
	MOVQ i, next+56(FP)
	RET
