//go:build !((amd64 || arm64 || riscv64) && gc && !purego)

package hardware

import "errors"

const memoryModel = "this architecture"

// Go has no access that is free of data races and of order: there is nothing to test.
var (
	litmusTests   []litmusTest
	petersonLocks []petersonLock
)

var errNoAssembly = errors.New("hardware: litmus tests need assembly, which this build lacks (it is written for amd64, arm64 and riscv64, for gc and without the tag purego)")

func litmusAvailable() error { return errNoAssembly }
