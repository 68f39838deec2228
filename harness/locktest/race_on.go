//go:build race

package locktest

// RaceDetector reports whether the program was built with the race detector.
const RaceDetector = true
