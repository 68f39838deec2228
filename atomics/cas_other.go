//go:build !((amd64 || arm64 || loong64 || ppc64le || riscv64 || s390x) && gc && !purego)

package atomics

// archSuite is empty: this build has no assembly, only the reference.
var archSuite []*Primitive
