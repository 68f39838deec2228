// Package draw is the engine of all pictures: lines, small multiples, rows with intervals,
// axes, labels, the palette and the typesetting. A [Picture] becomes part of a page by
// [Inline], as SVG whose colours follow the reader's theme, or a file of its own by [Poster].
//
// It depends on no run and no lock. The same input always gives the same bytes.
package draw
