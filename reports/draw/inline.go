package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

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

// Inline returns the body of pic as an SVG element for a page: it scales, its colours are CSS
// variables, and it has a title and a description. id is unique in the page.
func Inline(pic Picture, id, title, desc string) (string, error) {
	width := cmp.Or(pic.Width, Width)
	c := vgsvg.New(width, pic.Height)
	if err := pic.Body(draw.New(c)); err != nil {
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
	body, err := Themed(fitted(text[m[1]:], width))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`<svg viewBox="%[1]s" role="img" aria-labelledby="%[2]s-title %[2]s-desc" xmlns="http://www.w3.org/2000/svg"><title id="%[2]s-title">%[3]s</title><desc id="%[2]s-desc">%[4]s</desc>`,
		text[m[2]:m[3]], id, html.EscapeString(strings.Map(legal, title)), html.EscapeString(strings.Map(legal, desc))) + body, nil
}

// flatText finds a horizontal text: its start, style and content.
var flatText = regexp.MustCompile(`<text x="([-0-9.]+)" y="[-0-9.]+" transform="scale\(1, -1\)"\s+style="([^"]*)">([^<]*)</text>`)

var svgSize = regexp.MustCompile(`font-size:([0-9.]+)px`)

// wider is how much wider another font may be; DejaVu Sans is 12 to 20 % wider.
const wider = 1.25

// fitted fixes the width of texts near the right edge, which a wider font would cut off.
func fitted(svg string, width vg.Length) string {
	return flatText.ReplaceAllStringFunc(svg, func(text string) string {
		m := flatText.FindStringSubmatch(text)
		x, err := strconv.ParseFloat(m[1], 64)
		size := svgSize.FindStringSubmatch(m[2])
		if err != nil || size == nil {
			return text
		}
		points, _ := strconv.ParseFloat(size[1], 64)
		st := boldIf(strings.Contains(m[2], "font-weight:bold"), Typeset(points, Ink, draw.XLeft, draw.YTop))
		long := st.Width(html.UnescapeString(m[3]))
		if vg.Length(x)+wider*long <= width {
			return text
		}
		return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs"`, long) + strings.TrimPrefix(text, "<text")
	})
}

// svgFont is the font of the layout; a page lists fonts of the same widths after it.
const svgFont = "font-family:Liberation Sans;"

// Themed replaces the colours of every style attribute by CSS variables, and removes the
// font, which the page sets. A colour that is not a token is a mistake in a chart.
func Themed(svg string) (string, error) {
	var unknown []string
	out := svgStyle.ReplaceAllStringFunc(svg, func(style string) string {
		style = strings.Replace(style, svgFont, "", 1)
		return svgColor.ReplaceAllStringFunc(style, func(hex string) string {
			for _, t := range Tokens {
				if Near(hex, t.Light) {
					return "var(--" + t.Name + ")"
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

// Near reports whether hex equals rgb within the rounding of a translucent colour.
func Near(hex string, rgb uint32) bool {
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

// slack is the greatest error of a channel; tokens differ by more.
const slack = 1
