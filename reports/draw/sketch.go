package draw

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Width is the width of every chart.
const Width = 9 * vg.Inch

// A Picture is a drawing without texts.
type Picture struct {
	Height vg.Length                 // of the body; 0 if there is nothing to draw
	Body   func(c draw.Canvas) error // draws on a canvas of width by height
}
