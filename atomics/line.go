package atomics

// CacheLinePad is put between two fields that different CPUs write. A type
// whose values lie in an array needs one after its last field.
type CacheLinePad struct{ _ [CacheLine]byte }
