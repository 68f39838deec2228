//go:build !race

package lockbench

const raceEnabled = false
