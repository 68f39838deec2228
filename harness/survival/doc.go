// Package survival says what failures a lock survives, from the results of its
// scenarios alone: what was expected beside what was seen, with the bound that so
// many tries allow, and the guarantees that follow.
//
// Rank 2. It imports harness and harness/stat.
package survival
