package atomics

// CacheLinePad separates two fields that different CPUs write. A type whose values are
// array elements needs one after its last field.
type CacheLinePad struct{ _ [CacheLine]byte }
