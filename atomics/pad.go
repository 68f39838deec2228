//go:build !s390x

package atomics

// CacheLine is the distance in bytes at which two words do not disturb each other. Apple's
// arm64 and POWER have 128-byte lines; Intel CPUs prefetch 64-byte lines in pairs.
const CacheLine = 128
