package atomics

// Ticks reads the fastest clock of this machine, which counts up at a constant rate from an
// arbitrary start:
//
//   - amd64: RDTSC, about 12 ns a call. The CPU may execute it a few instructions early or
//     late; there is no fence. If the CPU has an invariant TSC, as all servers of the last
//     decade do, the rate is constant and the counters of all cores agree. It may advance in
//     steps of many ticks.
//   - arm64: ISB, then CNTVCT_EL0. Without the ISB the CPU may read the counter before the
//     loads ahead of it are done.
//   - elsewhere, and under the tag purego: nanoseconds of Go's monotonic clock.
//
// Only differences have a meaning. To get seconds, divide them by [ClockHz], or by a rate
// calibrated against time.Now if ClockHz is 0. Two readings on different cores may disagree by
// tens of nanoseconds, so the difference may be below zero; as a uint64 it is then very large.
func Ticks() uint64 { return ticks() }

// ClockName returns the clock that Ticks reads: "RDTSC", "CNTVCT_EL0" or "monotonic".
func ClockName() string { return clockName }

// ClockHz returns the Ticks in a second, if the machine reports them (CNTFRQ_EL0 on arm64, 1e9
// for the monotonic clock), or 0 if the rate must be calibrated, as on amd64.
func ClockHz() float64 { return clockHz() }
