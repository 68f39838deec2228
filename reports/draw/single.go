package draw

import (
	"bytes"
	"cmp"
	"io"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	Margin     = vg.Length(16)
	titleSize  = 14
	answerSize = 10
	footSize   = 7
)

// A Poster is a picture in its own file.
type Poster struct {
	Name                            string // of the file
	Title, Answer, Note, Data, Foot string
	Caption                         string // above the picture, if needed
	Picture                         Picture
}

// A block is lines of text in one style.
type block struct {
	text.Style
	step  vg.Length // between lines
	lines []string
	below vg.Length // room after the block
}

func (p Poster) above() []block {
	of := func(st text.Style, size float64, s string, below vg.Length) block {
		return block{st, vg.Length(size * 1.35), wrap(st, s, Width-2*Margin), below}
	}
	out := []block{
		of(Bold(Typeset(titleSize, Ink, draw.XLeft, draw.YTop)), titleSize, p.Title, 0),
		of(Typeset(answerSize, Muted, draw.XLeft, draw.YTop), answerSize, p.Answer, 8),
	}
	if p.Caption != "" {
		out[1].below += 4
		out = append(out, of(Bold(Typeset(answerSize, Ink, draw.XLeft, draw.YTop)), answerSize, p.Caption, 2))
	}
	return out
}

// Below returns the lines under the picture.
func (p Poster) Below() (lines []string) {
	for _, s := range []string{p.Note, p.Data, p.Foot} {
		if s != "" || s == p.Foot {
			lines = append(lines, wrap(footStyle, s, Width-2*Margin)...)
		}
	}
	return lines
}

var footStyle = Typeset(footSize, Muted, draw.XLeft, draw.YTop)

func (p Poster) Height() vg.Length {
	h := 2*Margin + p.Picture.Height + 10 + vg.Length(len(p.Below()))*footSize*1.4
	for _, b := range p.above() {
		h += b.step*vg.Length(len(b.lines)) + b.below
	}
	return h
}

// Draw paints the page on c, whose height is p.Height.
func (p Poster) Draw(c draw.Canvas) error {
	c.SetColor(Paper.RGBA())
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, Margin, -Margin, Margin, -Margin)
	y := c.Max.Y
	write := func(b block) {
		for _, l := range b.lines {
			c.FillText(b.Style, vg.Point{X: c.Min.X, Y: y}, l)
			y -= b.step
		}
		y -= b.below
	}
	for _, b := range p.above() {
		write(b)
	}
	if p.Picture.Height > 0 {
		body := c
		body.Max.Y, body.Min.Y = y, y-p.Picture.Height
		if err := p.Picture.Body(body); err != nil {
			return err
		}
	}
	y -= p.Picture.Height + 4
	c.StrokeLine2(draw.LineStyle{Color: Grid.RGBA(), Width: vg.Points(0.75)}, c.Min.X, y, c.Max.X, y)
	y -= 6
	write(block{footStyle, footSize * 1.4, p.Below(), 0})
	return nil
}

// WritePNG writes the poster as a PNG of [DPI] dots per inch.
func (p Poster) WritePNG(w io.Writer) error { return writePNG(w, Width, p.Height(), p.Draw) }

// PNG returns pic alone, with a margin, as a PNG.
func (pic Picture) PNG() ([]byte, error) {
	var buf bytes.Buffer
	err := writePNG(&buf, cmp.Or(pic.Width, Width)+2*Margin, pic.Height+2*Margin, func(c draw.Canvas) error {
		return pic.Body(draw.Crop(c, Margin, -Margin, Margin, -Margin))
	})
	return buf.Bytes(), err
}

func writePNG(w io.Writer, width, height vg.Length, body func(c draw.Canvas) error) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(DPI), vgimg.UseBackgroundColor(Paper.RGBA()))
	if err := body(draw.New(c)); err != nil {
		return err
	}
	_, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w)
	return err
}

// DPI is the resolution of every PNG.
const DPI = 144

// Width is the width of every chart; NarrowWidth is the width of a narrow one, for a place
// next to a table or for a phone.
const (
	Width       = 9 * vg.Inch
	NarrowWidth = 4.5 * vg.Inch
)

// A Picture is a drawing without texts.
type Picture struct {
	Width, Height vg.Length                 // of the body; the height is 0 if there is nothing to draw
	Body          func(c draw.Canvas) error // draws on a canvas of width by height
	Narrow        *Picture                  // the same in less width, or nil
	Shape         Shape
}

// A Shape counts what a drawing shows.
type Shape struct {
	Parts  int  // marks, cells or frames
	Curves int  // frames with a line of two points or more
	Equal  bool // the figures of all frames are alike
}

// Alike is the greatest ratio of two figures that a reader takes for equal.
const Alike = 1.05
