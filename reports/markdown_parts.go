package reports

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
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
		m.text(strings.TrimSpace(f.Doc + " " + plain(f.Data)))
	}
	if f.Shown {
		m.table(texts(f.Head), f.Rows)
		m.meanings(f.Head)
		if f.Omitted != "" {
			m.text(f.Omitted)
		}
		return
	}
	m.numbers("numbers", texts(f.Head), f.Rows, f.Omitted, f.Head...)
}

// image passes the picture to the caller without title and answer, which are in the text.
func (m *markdown) image(title, answer, name string, pic picture) {
	if m.err != nil || pic.height == 0 {
		return
	}
	for m.taken[name] {
		name += "-again"
	}
	m.taken[name] = true
	c := vgimg.NewWith(vgimg.UseWH(width+2*margin, pic.height+2*margin), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(paper.rgba()))
	inner := draw.Crop(draw.New(c), vg.Length(margin), -margin, margin, -margin)
	if m.err = pic.body(inner); m.err != nil {
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
func (m *markdown) numbers(summary string, head []string, rows [][]string, omitted string, linked ...piece) {
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
func (m *markdown) meanings(head []piece) {
	var order []string
	named := make(map[string][]string)
	for _, h := range head {
		link := h.Link()
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
