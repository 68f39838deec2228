//go:build !(amd64 && gc && !purego)

package hardware

var bareFastPath *fastPath
