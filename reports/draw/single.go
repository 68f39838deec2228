package draw

import (
	"bytes"
	"io"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	Margin     = vg.Length(16)
	titleSize  = 14
	answerSize = 10
	footSize   = 7

	captionStep = vg.Length(answerSize * 1.35)
)

// A Poster is a picture in its own file.
type Poster struct {
	Title, Answer, Note, Data, Foot string
	Caption                         string // above the picture, if needed
	Picture                         Picture
}

func (p Poster) styles() (title, answer, foot text.Style) {
	return Bold(Typeset(titleSize, Ink, draw.XLeft, draw.YTop)),
		Typeset(answerSize, Muted, draw.XLeft, draw.YTop),
		Typeset(footSize, Muted, draw.XLeft, draw.YTop)
}

// Layout returns the wrapped texts and the height they need around the body.
func (p Poster) Layout() (title, answer, foot []string, around vg.Length) {
	st, sa, sf := p.styles()
	w := Width - 2*Margin
	title, answer = wrap(st, p.Title, w), wrap(sa, p.Answer, w)
	foot = wrap(sf, p.Note, w)
	if p.Data != "" {
		foot = append(foot, wrap(sf, p.Data, w)...)
	}
	foot = append(foot, wrap(sf, p.Foot, w)...)
	around = 2*Margin +
		vg.Length(len(title))*titleSize*1.35 +
		vg.Length(len(answer))*answerSize*1.35 + 8 +
		vg.Length(len(foot))*footSize*1.4 + 10
	if p.Caption != "" {
		around += 6 + vg.Length(len(p.captionLines()))*captionStep
	}
	return title, answer, foot, around
}

func (p Poster) captionLines() []string {
	return wrap(Bold(Typeset(answerSize, Ink, draw.XLeft, draw.YTop)), p.Caption, Width-2*Margin)
}

func (p Poster) Height() vg.Length {
	_, _, _, around := p.Layout()
	return around + p.Picture.Height
}

// Draw paints the page on c, whose height is p.height.
func (p Poster) Draw(c draw.Canvas) error {
	c.SetColor(Paper.RGBA())
	c.Fill(c.Rectangle.Path())
	title, answer, foot, _ := p.Layout()
	st, sa, sf := p.styles()
	c = draw.Crop(c, Margin, -Margin, Margin, -Margin)
	y := c.Max.Y
	lines := func(s text.Style, ls []string, step vg.Length) {
		for _, l := range ls {
			c.FillText(s, vg.Point{X: c.Min.X, Y: y}, l)
			y -= step
		}
	}
	lines(st, title, titleSize*1.35)
	lines(sa, answer, answerSize*1.35)
	y -= 8
	if p.Caption != "" {
		y -= 4
		lines(Bold(Typeset(answerSize, Ink, draw.XLeft, draw.YTop)), p.captionLines(), captionStep)
		y -= 2
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
	lines(sf, foot, footSize*1.4)
	return nil
}

// WritePNG writes the poster as a PNG of [DPI] dots per inch.
func (p Poster) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(Width, p.Height()), vgimg.UseDPI(DPI), vgimg.UseBackgroundColor(Paper.RGBA()))
	if err := p.Draw(draw.New(c)); err != nil {
		return err
	}
	_, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w)
	return err
}

// WriteSVG writes the poster as SVG in the light theme.
func (p Poster) WriteSVG(w io.Writer) error {
	c := vgsvg.New(Width, p.Height())
	if err := p.Draw(draw.New(c)); err != nil {
		return err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return err
	}
	_, err := w.Write(bytes.Map(legal, buf.Bytes()))
	return err
}

// PNG returns pic alone, with a margin, as a PNG.
func (pic Picture) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(Width+2*Margin, pic.Height+2*Margin), vgimg.UseDPI(DPI), vgimg.UseBackgroundColor(Paper.RGBA()))
	if err := pic.Body(draw.Crop(draw.New(c), Margin, -Margin, Margin, -Margin)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	_, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&buf)
	return buf.Bytes(), err
}

// DPI is the resolution of every PNG.
const DPI = 144
