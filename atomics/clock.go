package atomics

// Ticks reads the fastest clock of this machine, which counts up at a constant
// rate from an arbitrary start:
//
//   - amd64: RDTSC, about 12 ns a call. The CPU may execute it a few
//     instructions early or late; there is no fence. The rate is constant and
//     the counters of all cores agree if the CPU has an invariant TSC, as all
//     servers of the last decade do. It may advance in steps of many ticks.
//   - arm64: ISB, then CNTVCT_EL0. Without the ISB the CPU may read the counter
//     before the loads ahead of it are done.
//   - elsewhere, and under the tag purego: nanoseconds of Go's monotonic clock.
//
// Only differences mean something. Divide them by [ClockHz], or by a rate
// calibrated against time.Now where that is 0, to get seconds. Two readings on
// different cores may disagree by tens of nanoseconds, so the difference may
// be below zero; as a uint64 it is then very large.
func Ticks() uint64 { return ticks() }

// ClockName says what Ticks reads: "RDTSC", "CNTVCT_EL0" or "monotonic".
func ClockName() string { return clockName }

// ClockHz returns how many Ticks there are in a second where the machine says
// so: the CNTFRQ_EL0 register on arm64, 1e9 for the monotonic clock. It is 0
// where it must be calibrated, as on amd64.
func ClockHz() float64 { return clockHz() }
