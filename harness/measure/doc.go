// Package measure drives locks and records the results:
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
// # Ranks
//
// [JoinRanks] is the meeting point of the processes of one run, its ranks, perhaps on
// several hosts. They find each other at a Redis server, begin together, learn each
// other's clocks, and notice when one is gone. There is no leader: each rank posts its part
// once and reads all parts, so all compute the same from the same data. A rank claims its
// number for a few seconds and renews the claim once a second. A rank whose claim expires
// is gone. Keys begin with locklab:ranks:JOB: and expire. A rank outside a barrier makes
// one request a second. Inside it polls, every 2 ms at first and every 50 ms in the end.
//
// # Trips
//
// [CountTrips] counts the sequential trips of messages of a distributed lock, each caused
// by the one before, through proxies that read every message. That is the logical clock of
// L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM
// 21(7), 1978. Nothing is timed, so the counts are the same on a slow machine.
//
// It imports no lock family and no chart.
package measure
