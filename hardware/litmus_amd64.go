//go:build gc && !purego

package hardware

// memoryModel names the model that allows or forbids outcomes: a store may come after a
// later load, and nothing else is reordered (x86-TSO).
const memoryModel = "x86"

// litmusTests are the classic ones, with plain moves and with ordering instructions.
var litmusTests = []litmusTest{
	{name: "store buffering, MOV", allowed: true, certain: true, relaxed: neitherSaw, threads: [2]litmusThread{storeLoad, storeLoad}},
	{name: "store buffering, MFENCE", relaxed: neitherSaw, threads: [2]litmusThread{storeFenceLoad, storeFenceLoad}},
	{name: "store buffering, XCHG", relaxed: neitherSaw, threads: [2]litmusThread{exchangeLoad, exchangeLoad}},
	{name: "message passing, MOV", relaxed: flagWithoutData, threads: [2]litmusThread{storeStore, loadLoad}},
	{name: "message passing, SFENCE and LFENCE", relaxed: flagWithoutData, threads: [2]litmusThread{storeFenceStore, loadFenceLoad}},
	{name: "load buffering, MOV", relaxed: bothSaw, threads: [2]litmusThread{loadStore, loadStore}},
	{name: "load buffering, MFENCE", relaxed: bothSaw, threads: [2]litmusThread{loadFenceStore, loadFenceStore}},
}

// petersonLocks differ in the instruction between the stores and the loads of an entry.
var petersonLocks = []petersonLock{
	{name: "Peterson's lock, MOV", run: petersonPlain},
	{name: "Peterson's lock, MFENCE", sound: true, run: petersonFenced},
}

func litmusAvailable() error { return needTwoCPUs() }

// The functions below are in litmus_amd64.s and peterson_amd64.s.

//go:noescape
func storeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func storeFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func exchangeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func storeStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func storeFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func loadLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func loadFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func loadStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func loadFenceStore(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func petersonPlain(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)

//go:noescape
func petersonFenced(s *guarded, mine, theirs *uint64, id, limit, patience, iterations uint64) (entered, violated uint64)
