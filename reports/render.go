package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/resultfile"
)

// dpi is the resolution of a PNG.
const dpi = 144

// WritePNG draws the named chart of run, of [Suite] or of [FindingCharts], with
// its question, answer and origin, as a PNG of 144 dots per inch. The error
// wraps harness.ErrUsage if there is no chart of that name.
func WritePNG(w io.Writer, run *resultfile.Run, chart string) error {
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

// WriteSVG draws what WritePNG draws, as SVG in the light theme.
func WriteSVG(w io.Writer, run *resultfile.Run, chart string) error {
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

// legal drops the characters that XML has no place for; the canvas escapes the
// others.
func legal(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return -1
	}
	return r
}

// standalone returns the page of a chart: of an experiment, or of the group with
// the most cases.
func standalone(run *resultfile.Run, name string) (page, error) {
	run = tidy(run)
	var names []string
	for _, c := range findingCharts(run) {
		if c.name == name {
			return c.standalone(run), nil
		}
		names = append(names, c.name)
	}
	chart, err := find(name, names...)
	if err != nil {
		return page{}, err
	}
	p := page{title: chart.Title, foot: origin(run)}
	g := largest(groups(run), chart.Remote)
	if g == nil {
		p.pic = nothing("%s", noGroup(chart.Remote))
	} else {
		p.pic = chart.drawn(g)
		p.note = chart.Doc + " Workload: " + cmp.Or(p.pic.load, g.Axes) + "."
	}
	p.answer = p.pic.answer
	return p, nil
}

// largest returns the group with the most cases of one kind, or nil.
func largest(gs []*group, remote bool) *group {
	for _, g := range gs {
		if g.Remote == remote {
			return g
		}
	}
	return nil
}

func noGroup(remote bool) string {
	if remote {
		return "This run has no result of a distributed lock."
	}
	return "This run has no result of a local lock."
}

var (
	svgOpen  = regexp.MustCompile(`(?s)^.*?<svg[^>]*viewBox="([^"]*)"[^>]*>`)
	svgColor = regexp.MustCompile(`#[0-9A-Fa-f]{6}\b`)
	svgStyle = regexp.MustCompile(`style="[^"]*"`)
)

// inline returns the body of pic as an SVG element for a page: it scales, its
// colours are CSS variables, and it has a title and a description. id is
// unique in the page.
func inline(pic picture, id, title, desc string) (string, error) {
	c := vgsvg.New(width, pic.height)
	if err := pic.body(draw.New(c)); err != nil {
		return "", err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return "", err
	}
	text := strings.Map(legal, buf.String())
	m := svgOpen.FindStringSubmatchIndex(text)
	if m == nil {
		return "", fmt.Errorf("the drawing has no svg element")
	}
	body, err := themed(text[m[1]:])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`<svg viewBox="%[1]s" role="img" aria-labelledby="%[2]s-title %[2]s-desc" xmlns="http://www.w3.org/2000/svg"><title id="%[2]s-title">%[3]s</title><desc id="%[2]s-desc">%[4]s</desc>`,
		text[m[2]:m[3]], id, html.EscapeString(strings.Map(legal, title)), html.EscapeString(strings.Map(legal, desc))) + body, nil
}

// themed replaces the colours of every style attribute by CSS variables. A
// colour that is no token is a mistake in a chart.
func themed(svg string) (string, error) {
	var unknown []string
	out := svgStyle.ReplaceAllStringFunc(svg, func(style string) string {
		return svgColor.ReplaceAllStringFunc(style, func(hex string) string {
			for _, t := range tokens {
				if near(hex, t.light) {
					return "var(--" + t.name + ")"
				}
			}
			unknown = append(unknown, hex)
			return hex
		})
	})
	if unknown != nil {
		return "", fmt.Errorf("colours %s are not in the palette", strings.Join(unknown, " "))
	}
	return out, nil
}

// near reports whether hex is rgb but for the rounding of a translucent
// colour, which loses up to a few units per channel.
func near(hex string, rgb uint32) bool {
	var v uint32
	if _, err := fmt.Sscanf(hex, "#%06x", &v); err != nil {
		return false
	}
	for shift := 0; shift < 24; shift += 8 {
		a, b := int(v>>shift&255), int(rgb>>shift&255)
		if a < b-slack || a > b+slack {
			return false
		}
	}
	return true
}

// slack is how far a channel may be off; tokens are further apart.
const slack = 1
