//go:build race

package hardware

const raceEnabled = true
