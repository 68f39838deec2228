// Package waiting implements the waits of local locks between two polls: one way for each
// [Policy]. It also checks the arguments of constructors of the lock packages, so that
// all refuse a mistake with the same words.
package waiting
