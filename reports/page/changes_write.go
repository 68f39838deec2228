package page

import (
	"bytes"
	"fmt"
	"io"

	"locklab/reports/chart"
	"locklab/reports/draw"

	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/compare"
)

// WriteHistoryHTML writes one self-contained page about the runs of h. Unchanged series are
// folded.
func WriteHistoryHTML(w io.Writer, h *compare.History) error {
	doc, err := composeHistory(h)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return writePage(w, "history", doc)
}

// WriteHistoryMarkdown writes the content of [WriteHistoryHTML] as Markdown; folder and
// picture are as in [WriteMarkdown].
func WriteHistoryMarkdown(w io.Writer, h *compare.History, folder string, picture func(path string, png []byte) error) error {
	doc, err := composeHistory(h)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	m := &markdown{folder: folder, picture: picture, taken: make(map[string]bool), glossary: doc.glossary}
	m.heading(1, doc.Title)
	m.text(doc.Lead)
	m.items(doc.Findings)
	for _, s := range doc.Sections {
		m.section(s)
	}
	m.heading(2, "How it is decided")
	for _, r := range doc.Remarks {
		m.text(r)
	}
	m.heading(2, "Runs")
	for _, s := range doc.Sites {
		m.heading(3, s.Name)
		m.text(s.Hardware)
		m.table(chart.Texts(s.Head), s.Rows)
	}
	m.items(doc.Warnings)
	m.metrics(doc.glossary)
	return m.writeTo(w)
}

// WriteHistoryPNG draws the changes in h, with their question and answer, as a PNG of 144
// dots per inch. Without a change it draws all cases.
func WriteHistoryPNG(w io.Writer, h *compare.History) error {
	p := historyPage(h)
	c := vgimg.NewWith(vgimg.UseWH(draw.Width, p.Height()), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(draw.Paper.RGBA()))
	if err := p.Draw(vgdraw.New(c)); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

// WriteHistorySVG draws the picture of [WriteHistoryPNG] as SVG in the light theme.
func WriteHistorySVG(w io.Writer, h *compare.History) error {
	p := historyPage(h)
	c := vgsvg.New(draw.Width, p.Height())
	if err := p.Draw(vgdraw.New(c)); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	var buf bytes.Buffer
	_, err := c.WriteTo(&buf)
	if err == nil {
		_, err = w.Write(bytes.Map(draw.Legal, buf.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}
