//go:build gc && !purego

// The threads of the litmus tests: two accesses each, in one iteration of a loop in
// which two threads meet. Waiting is bounded, because the Go scheduler cannot
// interrupt it and may have stopped the other thread.

#include "textflag.h"
#include "go_asm.h"

#define v0	R0
#define one	R1 // address of the line that a body accesses first
#define two	R2
#define notes	R3
#define i	R4
#define there	R5
#define here	R6
#define end	R7
#define wait	R8 // polls left
#define v1	R9
#define unit	R10 // 1

#define maxWait $1000000
#define ISH	$0xb // all loads and stores, the CPUs of one system

// A body leaves the loaded values in v0: a 1 for each load that saw the store.

#define STORE_LOAD \
	MOVD unit, (one); \
	MOVD (two), v0

#define STORE_FENCE_LOAD \
	MOVD unit, (one); \
	DMB  ISH; \
	MOVD (two), v0

#define RELEASE_ACQUIRE \
	STLR unit, (one); \
	LDAR (two), v0

#define STORE_STORE \
	MOVD unit, (one); \
	MOVD unit, (two); \
	MOVD ZR, v0

#define STORE_FENCE_STORE \
	MOVD unit, (one); \
	DMB  ISH; \
	MOVD unit, (two); \
	MOVD ZR, v0

#define STORE_RELEASE \
	MOVD unit, (one); \
	STLR unit, (two); \
	MOVD ZR, v0

#define LOAD_LOAD \
	MOVD (one), v0; \
	MOVD (two), v1; \
	ADD  v1<<1, v0

#define LOAD_FENCE_LOAD \
	MOVD (one), v0; \
	DMB  ISH; \
	MOVD (two), v1; \
	ADD  v1<<1, v0

#define ACQUIRE_LOAD \
	LDAR (one), v0; \
	MOVD (two), v1; \
	ADD  v1<<1, v0

#define LOAD_STORE \
	MOVD (one), v0; \
	MOVD unit, (two)

#define LOAD_FENCE_STORE \
	MOVD (one), v0; \
	DMB  ISH; \
	MOVD unit, (two)

#define ACQUIRE_RELEASE \
	LDAR (one), v0; \
	STLR unit, (two)

// Iteration i starts when both threads have written i to their words. These accesses need
// no order: no iteration reads the data of another one.

#define LITMUS(BODY) \
	MOVD $1, unit; \
	ADD  i<<6, one; \
	ADD  i<<6, two; \
again: \
	MOVD i, (here); \
	MOVD maxWait, wait; \
poll: \
	MOVD (there), v0; \
	CMP  i, v0; \
	BHS  both; \
	SUBS $1, wait; \
	BNE  poll; \
	B    out; \
both: \
	BODY; \
	MOVD v0, (notes)(i<<3); \
	ADD  $(1<<6), one; \
	ADD  $(1<<6), two; \
	ADD  $1, i; \
	CMP  end, i; \
	BLO  again; \
out:

// func storeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(STORE_LOAD)
	MOVD i, next+56(FP)
	RET

// func storeFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeFenceLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(STORE_FENCE_LOAD)
	MOVD i, next+56(FP)
	RET

// func releaseAcquire(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·releaseAcquire(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(RELEASE_ACQUIRE)
	MOVD i, next+56(FP)
	RET

// func storeStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(STORE_STORE)
	MOVD i, next+56(FP)
	RET

// func storeFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeFenceStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(STORE_FENCE_STORE)
	MOVD i, next+56(FP)
	RET

// func storeRelease(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·storeRelease(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(STORE_RELEASE)
	MOVD i, next+56(FP)
	RET

// func loadLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(LOAD_LOAD)
	MOVD i, next+56(FP)
	RET

// func loadFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadFenceLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(LOAD_FENCE_LOAD)
	MOVD i, next+56(FP)
	RET

// func acquireLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·acquireLoad(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(ACQUIRE_LOAD)
	MOVD i, next+56(FP)
	RET

// func loadStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(LOAD_STORE)
	MOVD i, next+56(FP)
	RET

// func loadFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·loadFenceStore(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(LOAD_FENCE_STORE)
	MOVD i, next+56(FP)
	RET

// func acquireRelease(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
TEXT ·acquireRelease(SB), NOSPLIT|NOFRAME, $0-64
	MOVD first+0(FP), one
	MOVD second+8(FP), two
	MOVD seen+16(FP), notes
	MOVD mine+24(FP), here
	MOVD theirs+32(FP), there
	MOVD from+40(FP), i
	MOVD to+48(FP), end
	LITMUS(ACQUIRE_RELEASE)
	MOVD i, next+56(FP)
	RET
