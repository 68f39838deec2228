// Package predict predicts the times of a distributed lock at another round trip to the
// servers than the measured one, and among more contenders than measured.
//
// A [Model] is of one lock in one run. It is based on the number of sequential trips in
// each part of an acquisition ([harness.Trips], counted from messages), and the times
// near the servers. Its prediction for a [Situation] at a longer round trip follows from
// these alone. It is not fitted to a measurement at a distance, so such a measurement can
// refute it ([Check]).
//
// A [Crowd] is of one lock among many contenders. Its costs are calibrated by the points
// of a run up to a tenth of its most workers. Points with more are left out and can
// refute it ([Crowd.LeftOut]). [Limits] lists resources that run out before the lock
// fails.
//
// Rank 3. It imports harness, harness/metric and harness/stat.
package predict
