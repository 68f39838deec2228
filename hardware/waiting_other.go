//go:build !((amd64 || arm64) && gc && !purego)

package hardware

// waitWays are the instructions that this architecture has, beside those of all.
var waitWays []waitWay

// hintName is what stands for the instruction of [atomics.SpinHint].
const hintName = "spin hint"
