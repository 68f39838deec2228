//go:build !((amd64 || arm64 || loong64 || ppc64le || riscv64 || s390x) && gc && !purego)

package atomics

var archSuite []*Primitive
