//go:build gc && !purego

package hardware

// memoryModel is RVWMO (Unprivileged ISA, chapter "RVWMO Memory Consistency Model"). It orders
// two accesses of a thread to different words only by an instruction such as a FENCE.
const memoryModel = "RVWMO"

// litmusTests are plain and with a fence. Allowed outcomes may never occur: Ztso forbids all
// but store buffering.
var litmusTests = []litmusTest{
	{name: "store buffering, SD and LD", allowed: true, certain: true, relaxed: neitherSaw, threads: [2]litmusThread{storeLoad, storeLoad}},
	{name: "store buffering, FENCE", relaxed: neitherSaw, threads: [2]litmusThread{storeFenceLoad, storeFenceLoad}},
	{name: "message passing, SD and LD", allowed: true, relaxed: flagWithoutData, threads: [2]litmusThread{storeStore, loadLoad}},
	{name: "message passing, FENCE", relaxed: flagWithoutData, threads: [2]litmusThread{storeFenceStore, loadFenceLoad}},
	{name: "load buffering, LD and SD", allowed: true, relaxed: bothSaw, threads: [2]litmusThread{loadStore, loadStore}},
	{name: "load buffering, FENCE", relaxed: bothSaw, threads: [2]litmusThread{loadFenceStore, loadFenceStore}},
}

var petersonLocks = []petersonLock{
	{name: "Peterson's lock, SD and LD", run: petersonPlain},
	{name: "Peterson's lock, FENCE", sound: true, run: petersonFenced},
}
