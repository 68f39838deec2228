package page

import (
	"bytes"
	"fmt"
	"io"

	"locklab/reports/draw"

	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/judge"
)

// WriteHistoryHTML writes one self-contained page about the runs of h. Unchanged series are
// folded.
func WriteHistoryHTML(w io.Writer, h *judge.History) error {
	doc, err := composeHistory(h)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return writePage(w, "history", doc)
}

// WriteHistoryPNG draws the changes in h, with their question and answer, as a PNG of 144
// dots per inch. Without a change it draws all cases.
func WriteHistoryPNG(w io.Writer, h *judge.History) error {
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
func WriteHistorySVG(w io.Writer, h *judge.History) error {
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
