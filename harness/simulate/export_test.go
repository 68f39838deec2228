//go:build systematic && simulate

package simulate

import (
	"locklab/harness"
)

// RunChecked is Run with the protocol checked after every event.
func RunChecked(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, options{excludes: true, checked: true})
}

// RunSingle is Run with each load and each hint of a waiter made by the worker.
func RunSingle(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, options{excludes: true, single: true})
}
