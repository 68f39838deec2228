//go:build !((amd64 || arm64) && gc && !purego)

package hardware

// waitWays are the additional instructions of this architecture.
var waitWays []waitWay

// hintName is the name for the instruction of [atomics.SpinHint].
const hintName = "spin hint"
