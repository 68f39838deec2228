package page

import (
	"bytes"
	"fmt"
	"io"

	"locklab/reports/draw"

	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/result"
)

const dpi = 144

// WritePNG draws the named chart of run, of [Suite], of [FindingCharts], of
// [FaultCharts], of [SimulationCharts] or of [ContendersCharts], with its question, answer and origin,
// as a PNG of 144 dots per inch.
// The error wraps harness.ErrUsage if there is no chart of that name.
func WritePNG(w io.Writer, run *result.Run, chart string) error {
	p, err := standalone(run, chart)
	if err != nil {
		return err
	}
	c := vgimg.NewWith(vgimg.UseWH(draw.Width, p.Height()), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(draw.Paper.RGBA()))
	if err := p.Draw(vgdraw.New(c)); err != nil {
		return fmt.Errorf("reports: chart %s: %w", chart, err)
	}
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

// WriteSVG draws the chart of [WritePNG] as SVG in the light theme.
func WriteSVG(w io.Writer, run *result.Run, chart string) error {
	p, err := standalone(run, chart)
	if err != nil {
		return err
	}
	c := vgsvg.New(draw.Width, p.Height())
	if err := p.Draw(vgdraw.New(c)); err != nil {
		return fmt.Errorf("reports: chart %s: %w", chart, err)
	}
	var buf bytes.Buffer
	_, err = c.WriteTo(&buf)
	if err == nil {
		_, err = w.Write(bytes.Map(draw.Legal, buf.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}
