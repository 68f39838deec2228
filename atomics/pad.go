package atomics

// CacheLine is the distance in bytes at which two words do not disturb each
// other. It is 128 everywhere: Apple's arm64 has lines of 128 bytes, and the
// adjacent-line prefetcher of Intel CPUs fetches lines of 64 bytes in pairs.
const CacheLine = 128

// CacheLinePad is put between two fields that different CPUs write. A type
// whose values lie in an array needs one after its last field.
type CacheLinePad struct{ _ [CacheLine]byte }
