package draw

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"

	"locklab/internal/require"
)

// TestLegendFitsAnyFont: text at the right edge keeps its width under any font.
func TestLegendFitsAnyFont(t *testing.T) {
	const text = "saturation point (solid), its interval & more"
	pic := Picture{Height: 100, Body: func(c draw.Canvas) error {
		DrawNotes(c, []Note{{Colour: Ghost, Line: true, Text: "p99 of the other locks"}, {Colour: Warm, Text: text}})
		return nil
	}}
	svg, err := Inline(pic, "x", "x", "x")
	require.NoError(t, err)
	want := fmt.Sprintf("%.1f", Typeset(8, Muted, draw.XLeft, draw.YTop).Width(text))
	got := regexp.MustCompile(`textLength="([0-9.]+)"`).FindAllStringSubmatch(svg, -1)
	if len(got) != 1 || got[0][1] != want {
		t.Errorf("widths %q, want one of %s:\n%s", got, want, svg)
	}
	if strings.Contains(svg, "font-family") {
		t.Errorf("it names a font of its own:\n%s", svg)
	}
}
