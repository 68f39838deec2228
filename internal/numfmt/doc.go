// Package numfmt formats figures and counts for readers, consistently everywhere: three
// significant figures, an SI prefix, a unit after a non-breaking space, and nouns that
// agree with their number.
package numfmt
