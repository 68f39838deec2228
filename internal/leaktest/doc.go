// Package leaktest finds goroutines that outlive their test.
package leaktest
