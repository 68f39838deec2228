package atomics

// CacheLine is the distance in bytes at which two words do not disturb each
// other: the length of a cache line on s390x.
const CacheLine = 256
