package reports

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// legal drops the characters that XML has no place for; the canvas escapes the
// others.
func legal(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return -1
	}
	return r
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
	body, err := themed(fitted(text[m[1]:]))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`<svg viewBox="%[1]s" role="img" aria-labelledby="%[2]s-title %[2]s-desc" xmlns="http://www.w3.org/2000/svg"><title id="%[2]s-title">%[3]s</title><desc id="%[2]s-desc">%[4]s</desc>`,
		text[m[2]:m[3]], id, html.EscapeString(strings.Map(legal, title)), html.EscapeString(strings.Map(legal, desc))) + body, nil
}

// flatText finds a text that is not turned: where it begins, its style, and what it says.
var flatText = regexp.MustCompile(`<text x="([-0-9.]+)" y="[-0-9.]+" transform="scale\(1, -1\)"\s+style="([^"]*)">([^<]*)</text>`)

// svgSize finds the size of the letters in a style.
var svgSize = regexp.MustCompile(`font-size:([0-9.]+)px`)

// wider is by how much the letters of another font may be wider than those by which a chart
// is laid out: of DejaVu Sans by 12 to 20 %.
const wider = 1.25

// fitted gives the texts of a drawing that end near its right edge the width that they were
// laid out with, whatever font a reader has: there they would be cut.
func fitted(svg string) string {
	return flatText.ReplaceAllStringFunc(svg, func(text string) string {
		m := flatText.FindStringSubmatch(text)
		x, err := strconv.ParseFloat(m[1], 64)
		size := svgSize.FindStringSubmatch(m[2])
		if err != nil || size == nil {
			return text
		}
		points, _ := strconv.ParseFloat(size[1], 64)
		st := typeset(points, ink, draw.XLeft, draw.YTop)
		if strings.Contains(m[2], "font-weight:bold") {
			st = bold(st)
		}
		long := st.Width(html.UnescapeString(m[3]))
		if vg.Length(x)+wider*long <= width {
			return text
		}
		return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs"`, long) + strings.TrimPrefix(text, "<text")
	})
}

// svgFont is the one font of the charts, whose widths they are laid out by. Named alone, it
// leaves a reader's system that lacks it with the browser's default; a page names others of
// the same widths after it.
const svgFont = "font-family:Liberation Sans;"

// themed replaces the colours of every style attribute by CSS variables, and leaves the font
// to the page. A colour that is no token is a mistake in a chart.
func themed(svg string) (string, error) {
	var unknown []string
	out := svgStyle.ReplaceAllStringFunc(svg, func(style string) string {
		style = strings.Replace(style, svgFont, "", 1)
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
