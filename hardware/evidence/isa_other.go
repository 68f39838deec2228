//go:build !amd64 && !arm64 && !riscv64 && !ppc64le && !s390x && !loong64

package evidence

// native is nil: there is no decoder for this architecture.
var native *isa
