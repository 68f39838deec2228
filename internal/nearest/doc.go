// Package nearest finds the name that a mistyped word stands for. Rank 0.
package nearest
