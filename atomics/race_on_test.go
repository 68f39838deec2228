//go:build race

package atomics

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

// raceAcquire is the race detector's mark of a read after the last raceRelease(p).
func raceAcquire(p unsafe.Pointer) { runtime.RaceAcquire(p) }

func raceRelease(p unsafe.Pointer) { runtime.RaceRelease(p) }
