//go:build !race

package atomics

import "unsafe"

const raceEnabled = false

func raceAcquire(unsafe.Pointer) {}

func raceRelease(unsafe.Pointer) {}
