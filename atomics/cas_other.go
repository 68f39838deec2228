//go:build !((amd64 || arm64) && gc && !purego)

package atomics

// archSuite is empty: this build has no assembly, and the reference is all.
var archSuite []*Primitive
