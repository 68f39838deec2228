//go:build race

package atomics

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

// raceAcquire marks, for the race detector, which does not see assembly, that this
// goroutine read the data that the last raceRelease(p) published.
func raceAcquire(p unsafe.Pointer) { runtime.RaceAcquire(p) }

func raceRelease(p unsafe.Pointer) { runtime.RaceRelease(p) }
