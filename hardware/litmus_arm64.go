//go:build gc && !purego

package hardware

// memoryModel is Arm's, "Definition of the Arm memory model" (Arm ARM, DDI 0487, B2.3). It
// orders two accesses of a thread to different words only by an instruction: a DMB orders all
// before with all after it, a load-acquire comes before its successors, a store-release after
// its predecessors and before a later load-acquire. All other threads see a store at the same
// time.
const memoryModel = "Armv8"

// litmusTests are the classic ones, with plain accesses and with ordering instructions.
// Load buffering is allowed, but few processors do it; most show message passing.
var litmusTests = []litmusTest{
	{name: "store buffering, STR and LDR", allowed: true, certain: true, relaxed: neitherSaw, threads: [2]litmusThread{storeLoad, storeLoad}},
	{name: "store buffering, DMB", relaxed: neitherSaw, threads: [2]litmusThread{storeFenceLoad, storeFenceLoad}},
	{name: "store buffering, STLR and LDAR", relaxed: neitherSaw, threads: [2]litmusThread{releaseAcquire, releaseAcquire}},
	{name: "message passing, STR and LDR", allowed: true, relaxed: flagWithoutData, threads: [2]litmusThread{storeStore, loadLoad}},
	{name: "message passing, DMB", relaxed: flagWithoutData, threads: [2]litmusThread{storeFenceStore, loadFenceLoad}},
	{name: "message passing, STLR and LDAR", relaxed: flagWithoutData, threads: [2]litmusThread{storeRelease, acquireLoad}},
	{name: "load buffering, LDR and STR", allowed: true, relaxed: bothSaw, threads: [2]litmusThread{loadStore, loadStore}},
	{name: "load buffering, DMB", relaxed: bothSaw, threads: [2]litmusThread{loadFenceStore, loadFenceStore}},
	{name: "load buffering, LDAR and STLR", relaxed: bothSaw, threads: [2]litmusThread{acquireRelease, acquireRelease}},
}

var petersonLocks = []petersonLock{
	{name: "Peterson's lock, STR and LDR", run: petersonPlain},
	{name: "Peterson's lock, DMB", sound: true, run: petersonFenced},
	{name: "Peterson's lock, STLR and LDAR", sound: true, run: petersonRelease},
}

//go:noescape
func releaseAcquire(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func storeRelease(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func acquireLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func acquireRelease(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func petersonRelease(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
