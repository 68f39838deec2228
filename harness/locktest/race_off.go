//go:build !race

package locktest

// raceDetector reports whether the race detector is enabled.
const raceDetector = false
