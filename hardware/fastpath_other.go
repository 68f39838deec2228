//go:build !(amd64 && gc && !purego)

package hardware

// bareFastPath is nil: there is no loop in assembly for comparison.
var bareFastPath *fastPath
