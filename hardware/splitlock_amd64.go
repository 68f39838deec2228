//go:build gc && !purego

package hardware

var splitAccesses = []splitAccess{
	{name: "LOCK XADD", locked: true, run: addXaddLocked},
	{name: "LOCK CMPXCHG", locked: true, run: addCmpxchgLocked},
	{name: "XADD without LOCK", run: addXadd},
}

func splitLockAssembly() error { return nil }

//go:noescape
func addXaddLocked(p *byte, n uint64)

//go:noescape
func addCmpxchgLocked(p *byte, n uint64)

//go:noescape
func addXadd(p *byte, n uint64)
