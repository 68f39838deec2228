package reports

import (
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	margin     = vg.Length(16)
	titleSize  = 14
	answerSize = 10
	footSize   = 7

	captionStep = vg.Length(answerSize * 1.35)
)

// A page is a picture in its own file.
type page struct {
	title, answer, note, data, foot string
	caption                         string // above the picture, if needed
	pic                             picture
}

func (p page) styles() (title, answer, foot text.Style) {
	return bold(typeset(titleSize, ink, draw.XLeft, draw.YTop)),
		typeset(answerSize, muted, draw.XLeft, draw.YTop),
		typeset(footSize, muted, draw.XLeft, draw.YTop)
}

// layout returns the wrapped texts and the height they need around the body.
func (p page) layout() (title, answer, foot []string, around vg.Length) {
	st, sa, sf := p.styles()
	w := width - 2*margin
	title, answer = wrap(st, p.title, w), wrap(sa, p.answer, w)
	foot = wrap(sf, p.note, w)
	if p.data != "" {
		foot = append(foot, wrap(sf, p.data, w)...)
	}
	foot = append(foot, wrap(sf, p.foot, w)...)
	around = 2*margin +
		vg.Length(len(title))*titleSize*1.35 +
		vg.Length(len(answer))*answerSize*1.35 + 8 +
		vg.Length(len(foot))*footSize*1.4 + 10
	if p.caption != "" {
		around += 6 + vg.Length(len(p.captionLines()))*captionStep
	}
	return title, answer, foot, around
}

func (p page) captionLines() []string {
	return wrap(bold(typeset(answerSize, ink, draw.XLeft, draw.YTop)), p.caption, width-2*margin)
}

func (p page) height() vg.Length {
	_, _, _, around := p.layout()
	return around + p.pic.height
}

// draw paints the page on c, whose height is p.height.
func (p page) draw(c draw.Canvas) error {
	c.SetColor(paper.rgba())
	c.Fill(c.Rectangle.Path())
	title, answer, foot, _ := p.layout()
	st, sa, sf := p.styles()
	c = draw.Crop(c, margin, -margin, margin, -margin)
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
	if p.caption != "" {
		y -= 4
		lines(bold(typeset(answerSize, ink, draw.XLeft, draw.YTop)), p.captionLines(), captionStep)
		y -= 2
	}
	if p.pic.height > 0 {
		body := c
		body.Max.Y, body.Min.Y = y, y-p.pic.height
		if err := p.pic.body(body); err != nil {
			return err
		}
	}
	y -= p.pic.height + 4
	c.StrokeLine2(draw.LineStyle{Color: grid.rgba(), Width: vg.Points(0.75)}, c.Min.X, y, c.Max.X, y)
	y -= 6
	lines(sf, foot, footSize*1.4)
	return nil
}
