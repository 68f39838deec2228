//go:build !s390x

package atomics

// CacheLine is the distance in bytes at which two words do not disturb each other.
// Apple's arm64 and POWER have lines of 128 bytes. The adjacent-line prefetcher of Intel
// CPUs fetches lines of 64 bytes in pairs.
const CacheLine = 128
