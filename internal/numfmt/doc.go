// Package numfmt formats figures and counts for readers, consistently everywhere: three
// significant figures, an SI prefix, a unit after a non-breaking space, and nouns that
// agree with their number.
//
// Rank 0. It imports the standard library only.
package numfmt
