//go:build !((amd64 || arm64) && gc && !purego)

package hardware

var waitWays []waitWay

const hintName = "spin hint"
