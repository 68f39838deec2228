package atomics

// CacheLine is the distance in bytes at which two words do not disturb each other.
const CacheLine = 256
