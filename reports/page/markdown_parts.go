package page

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"locklab/reports/chart"
	"locklab/reports/draw"
)

// figure writes f with the given name for its picture.
func (m *markdown) figure(f figure, name string) {
	if f.Folded {
		m.open(f.Title)
		defer m.close()
	}
	m.heading(3, f.Title)
	m.text(f.Answer)
	m.image(f.Title, f.Answer, name, f.pic)
	if f.SVG != "" {
		m.text(strings.TrimSpace(f.Doc + " " + chart.Plain(f.Data)))
	}
	if f.Shown {
		m.table(chart.Texts(f.Head), f.Rows)
		m.meanings(f.Head)
		if f.Omitted != "" {
			m.text(f.Omitted)
		}
		return
	}
	m.numbers("numbers", chart.Texts(f.Head), f.Rows, f.Omitted, f.Head...)
}

// image passes the picture to the caller without title and answer, which are in the text.
func (m *markdown) image(title, answer, name string, pic chart.Picture) {
	if m.err != nil || pic.Height == 0 {
		return
	}
	for m.taken[name] {
		name += "-again"
	}
	m.taken[name] = true
	c := vgimg.NewWith(vgimg.UseWH(draw.Width+2*draw.Margin, pic.Height+2*draw.Margin), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(draw.Paper.RGBA()))
	inner := vgdraw.Crop(vgdraw.New(c), vg.Length(draw.Margin), -draw.Margin, draw.Margin, -draw.Margin)
	if m.err = pic.Body(inner); m.err != nil {
		return
	}
	var buf bytes.Buffer
	if _, m.err = (vgimg.PngCanvas{Canvas: c}).WriteTo(&buf); m.err != nil {
		return
	}
	file := path.Join(m.folder, name+".png")
	if m.err = m.picture(file, buf.Bytes()); m.err == nil {
		fmt.Fprintf(&m.buf, "![%s](<%s>)\n\n", inlineText(title+" "+answer), &url.URL{Path: file})
	}
}

// numbers writes a folded table, with links to the definitions of its columns in linked.
func (m *markdown) numbers(summary string, head []string, rows [][]string, omitted string, linked ...chart.Piece) {
	if len(rows) > 0 {
		m.open(summary)
		m.table(head, rows)
		m.meanings(linked)
	}
	if omitted != "" {
		m.text(omitted)
	}
	if len(rows) > 0 {
		m.close()
	}
}

// meanings writes one line of links from the columns of a table to the glossary, one link
// for each definition.
func (m *markdown) meanings(head []chart.Piece) {
	var order []string
	named := make(map[string][]string)
	for _, h := range head {
		link := link(h)
		if !m.glossary.defines(link) || slices.Contains(named[link], h.Text) {
			continue
		}
		if named[link] == nil {
			order = append(order, link)
		}
		named[link] = append(named[link], h.Text)
	}
	var links []string
	for _, link := range order {
		links = append(links, fmt.Sprintf("[%s](#%s)", inlineText(strings.Join(named[link], ", ")), link))
	}
	if links != nil {
		fmt.Fprintf(&m.buf, "What the columns mean: %s.\n\n", strings.Join(links, " · "))
	}
}
