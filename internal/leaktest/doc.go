// Package leaktest finds goroutines that outlive their test.
//
// Rank 1.
package leaktest
