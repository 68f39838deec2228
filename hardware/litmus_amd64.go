//go:build gc && !purego

package hardware

// memoryModel is x86-TSO: a store may come after a later load, and nothing else is reordered.
const memoryModel = "x86"

var litmusTests = []litmusTest{
	{name: "store buffering, MOV", allowed: true, certain: true, relaxed: neitherSaw, threads: [2]litmusThread{storeLoad, storeLoad}},
	{name: "store buffering, MFENCE", relaxed: neitherSaw, threads: [2]litmusThread{storeFenceLoad, storeFenceLoad}},
	{name: "store buffering, XCHG", relaxed: neitherSaw, threads: [2]litmusThread{exchangeLoad, exchangeLoad}},
	{name: "message passing, MOV", relaxed: flagWithoutData, threads: [2]litmusThread{storeStore, loadLoad}},
	{name: "message passing, SFENCE and LFENCE", relaxed: flagWithoutData, threads: [2]litmusThread{storeFenceStore, loadFenceLoad}},
	{name: "load buffering, MOV", relaxed: bothSaw, threads: [2]litmusThread{loadStore, loadStore}},
	{name: "load buffering, MFENCE", relaxed: bothSaw, threads: [2]litmusThread{loadFenceStore, loadFenceStore}},
}

var petersonLocks = []petersonLock{
	{name: "Peterson's lock, MOV", run: petersonPlain},
	{name: "Peterson's lock, MFENCE", sound: true, run: petersonFenced},
}

//go:noescape
func exchangeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)
