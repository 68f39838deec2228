//go:build race

package atomics

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

// raceAcquire tells the race detector, which does not see assembly, that this
// goroutine read what the last raceRelease(p) announced.
func raceAcquire(p unsafe.Pointer) { runtime.RaceAcquire(p) }

func raceRelease(p unsafe.Pointer) { runtime.RaceRelease(p) }
