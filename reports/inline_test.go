package reports

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

// TestLegendFitsAnyFont: text at the right edge of a chart keeps its width under any font,
// and all text is in the fonts of the page.
func TestLegendFitsAnyFont(t *testing.T) {
	const text = "knee (solid), its interval & more"
	pic := picture{sketch: sketch{100, func(c draw.Canvas) error {
		drawNotes(c, []note{{colour: ghost, line: true, text: "p99 of the other locks"}, {colour: warm, text: text}})
		return nil
	}}}
	svg, err := inline(pic, "x", "x", "x")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%.1f", typeset(8, muted, draw.XLeft, draw.YTop).Width(text))
	got := regexp.MustCompile(`textLength="([0-9.]+)"`).FindAllStringSubmatch(svg, -1)
	if len(got) != 1 || got[0][1] != want {
		t.Errorf("widths %q, want one of %s:\n%s", got, want, svg)
	}
	if strings.Contains(svg, "font-family") {
		t.Errorf("it names a font of its own:\n%s", svg)
	}
}
