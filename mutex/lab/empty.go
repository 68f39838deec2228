package lab

import "locklab/harness"

// empty does nothing. One worker alone needs no lock, so for one worker it is correct. A run
// of it measures the cost of the harness: the lower bound of every other figure.
//
// # References
//
// ARM-software, synchronization-benchmarks, lockhammer, tests/empty.h: the same control in
// another harness. https://github.com/ARM-software/synchronization-benchmarks
var empty = &harness.Variant{
	Name:   "empty",
	Doc:    "does nothing: the cost of the harness itself",
	Paper:  "lockhammer, tests/empty.h",
	Family: harness.Blocking,
	Status: harness.Control,
	Traits: harness.Traits{MaxWorkers: 1},
	Local:  func(harness.Setup) harness.Local { return harness.Shared(nothing{}) },
}

type nothing struct{}

func (nothing) Lock()   {}
func (nothing) Unlock() {}
