// Package draw is the engine of all pictures: lines, small multiples, rows with intervals,
// axes, labels, the palette and the typesetting. [Inline] makes a [Picture] an SVG part of a
// page in the reader's theme, [Poster] a file. It depends on no run and no lock; the same
// input gives the same bytes.
package draw
