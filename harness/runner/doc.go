// Package runner drives locks and records the results:
//
//	Plan  →  rounds in shuffled order  →  a fresh process for a case, or for the local
//	locks of one workload  →  a Rig, driven for the warm-up, for blocks in turn with the
//	other locks of the process, and for the window  →  Result
//
// Only two loops differ between local and distributed locks. Every run is also a test: a
// counter guarded by the lock must equal the number of acquisitions, no two holds may
// overlap, and no worker may be left waiting.
//
// A measuring process is the same binary: [Main] must be the first line of main, and of
// TestMain in tests that run a Plan.
//
// Rank 4. It may import everything that measures; it must not import a lock family or a
// chart.
package runner
