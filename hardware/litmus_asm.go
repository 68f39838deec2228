//go:build (amd64 || arm64 || riscv64) && gc && !purego

package hardware

func litmusAvailable() error { return needTwoCPUs() }

// The assembly that every architecture has: see [litmusThread] and [petersonLock]. A fence
// in a name is an instruction that keeps the two accesses in order.

//go:noescape
func storeLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

//go:noescape
func storeFenceLoad(first, second *line, seen, mine, theirs *uint64, from, to uint64) (next uint64)

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
