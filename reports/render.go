package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/result"
	"locklab/internal/numfmt"
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
	c := vgimg.NewWith(vgimg.UseWH(width, p.height()), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(paper.rgba()))
	if err := p.draw(draw.New(c)); err != nil {
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
	c := vgsvg.New(width, p.height())
	if err := p.draw(draw.New(c)); err != nil {
		return fmt.Errorf("reports: chart %s: %w", chart, err)
	}
	var buf bytes.Buffer
	_, err = c.WriteTo(&buf)
	if err == nil {
		_, err = w.Write(bytes.Map(legal, buf.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

// standalone returns the page of a chart, for the group with the most cases if it is a
// chart of groups.
func standalone(run *result.Run, name string) (page, error) {
	run = tidy(run)
	var names []string
	for _, c := range findingCharts(run) {
		if c.name == name {
			return c.standalone(run), nil
		}
		names = append(names, c.name)
	}
	for _, c := range runFaultCharts(run) {
		if c.name == name {
			return c.standalone(run), nil
		}
		names = append(names, c.name)
	}
	if p, ok := contendersPage(run, name); ok {
		return p, nil
	}
	for _, c := range simulatedCharts(modelledOf(run, groups(run))) {
		if c.name == name {
			return c.standalone(run), nil
		}
		names = append(names, c.name)
	}
	chart, err := find(name, append(names, ContendersCharts(run)...)...)
	if err != nil {
		return page{}, err
	}
	p := page{title: chart.Title, foot: origin(run)}
	g := chart.subject(groups(run))
	if g == nil {
		p.pic = nothing("%s", noGroup(chart.Remote))
	} else {
		under := chart.under(g)
		g = under[0]
		p.pic = chart.drawn(g)
		p.title = g.titled(cmp.Or(p.pic.title, p.title))
		p.data = plain(p.pic.data.sentence())
		p.note = chart.Doc + " Workload: " + cmp.Or(p.pic.load, g.Axes) + "."
		if len(under) > 1 {
			var others []string
			for _, o := range under[1:] {
				others = append(others, o.conditions)
			}
			p.note += " The report has a chart for each of the other conditions: " + numfmt.List(others, len(others)) + "."
		}
	}
	p.answer = p.pic.answer
	return p, nil
}
