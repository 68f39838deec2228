//go:build !amd64 && !arm64 && !riscv64 && !ppc64le && !s390x && !loong64

package evidence

var native *isa
