// Package predict says what a lock kept by servers would take at another round trip to
// them than that at which it was measured, and among more contenders than it was measured
// with.
//
// A [Model] is of one lock in one run. It knows two things: how many trips follow one
// another in each part of an acquisition ([harness.Trips], counted from messages), and
// what the lock took where the servers were near. What it says of a [Situation] at a
// longer round trip follows from these alone: nothing is fitted to a measurement at a
// distance, so such a measurement can refute it ([Check]).
//
// [Contenders] predicts one lock with more contenders. Its [Law] is fitted to the points of
// a run up to a tenth of the most contenders. The other points check it
// ([Contenders.LeftOut]).
//
// Rank 3. It imports harness, harness/metric and harness/stat.
package predict
