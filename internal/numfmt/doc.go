// Package numfmt writes figures and counts for readers, in one way everywhere: three
// significant figures, an SI prefix, a unit behind a space that does not break, and
// nouns that agree with their number.
//
// Rank 0. It imports the standard library only.
package numfmt
