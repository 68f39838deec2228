//go:build race

package locktest

// raceDetector says whether the race detector watches.
const raceDetector = true
