// Package waiting implements the waits of local locks between two polls, one way for each
// [Policy], and checks constructors' arguments with the same words for all.
package waiting
