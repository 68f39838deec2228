package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/reports/chart"
	"locklab/reports/draw"
)

// Colour distance under simulated colour blindness. Sources: B. Ottosson, "A perceptual color
// space for image processing", 2020 (OKLab); G. Machado, M. Oliveira, L. Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6),
// 2009, severity 1; WCAG 2.2, 1.4.11 (contrast of graphics, 3:1).

type vec [3]float64

func linearColour(rgb uint32) vec {
	f := func(v uint32) float64 {
		x := float64(v&255) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return vec{f(rgb >> 16), f(rgb >> 8), f(rgb)}
}

func applyMatrix(m [3]vec, c vec) (out vec) {
	for i, row := range m {
		out[i] = max(0, min(1, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

func oklab(c vec) vec {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return vec{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

func distance(a, b vec) float64 {
	x, y := oklab(a), oklab(b)
	return 100 * math.Sqrt((x[0]-y[0])*(x[0]-y[0])+(x[1]-y[1])*(x[1]-y[1])+(x[2]-y[2])*(x[2]-y[2]))
}

func contrast(a, b vec) float64 {
	lum := func(c vec) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(lum(a), lum(b)) / min(lum(a), lum(b))
}

var visions = map[string][3]vec{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// A theme returns a colour of a token.
type theme func(t draw.Token) uint32

var themes = map[string]theme{
	"light": func(t draw.Token) uint32 { return t.Light },
	"dark":  func(t draw.Token) uint32 { return t.Dark },
}

// alikePairs returns the pairs of ts that are less than want apart for some vision.
func alikePairs(ts []draw.Token, want float64, of theme) (out []string) {
	for vision, m := range visions {
		for i, a := range ts {
			for _, b := range ts[i+1:] {
				if de := distance(applyMatrix(m, linearColour(of(a))), applyMatrix(m, linearColour(of(b)))); de < want {
					out = append(out, fmt.Sprintf("%s and %s are %.1f apart for %s vision, want %v", a.Name, b.Name, de, vision, want))
				}
			}
		}
	}
	return out
}

// findFaint returns the pairs of ts and grounds with less contrast than want.
func findFaint(ts []draw.Token, want float64, of theme, grounds ...draw.Token) (out []string) {
	for _, c := range ts {
		for _, g := range grounds {
			if r := contrast(linearColour(of(c)), linearColour(of(g))); r < want {
				out = append(out, fmt.Sprintf("contrast of %s with %s is %.2f, want %v", c.Name, g.Name, r, want))
			}
		}
	}
	return out
}

// unevenTokens returns the mistakes of ts as the colours of a field: neighbours differ, and their
// lightness goes one way.
func unevenTokens(ts []draw.Token, of theme) (out []string) {
	for i := range ts[1:] {
		out = append(out, alikePairs(ts[i:i+2], 6, of)...)
		for vision, m := range visions {
			light := func(t draw.Token) float64 { return 100 * oklab(applyMatrix(m, linearColour(of(t))))[0] }
			rising := light(ts[len(ts)-1]) > light(ts[0])
			if step := light(ts[i+1]) - light(ts[i]); (step > 0) != rising || math.Abs(step) < 3 {
				out = append(out, fmt.Sprintf("lightness goes by %.1f from %s to %s for %s vision, want 3 or more, one way", step, ts[i].Name, ts[i+1].Name, vision))
			}
		}
	}
	return out
}

// The roles of the tokens. A token without a role fails the test.
var (
	seriesTokens = []draw.Token{draw.Ink, draw.Blue, draw.Rust, draw.Sage, draw.Plum} // lines and marks
	textTokens   = []draw.Token{draw.Ink, draw.Muted, draw.Blue, draw.Rust, draw.Good}
	grounds      = []draw.Token{draw.Paper, draw.Warm, draw.Shade} // backgrounds of lines and text
	frameTokens  = []draw.Token{draw.Axis}                         // drawn on paper, 3:1 as graphics
	faintTokens  = []draw.Token{draw.Grid, draw.Ghost}             // carry no information alone
)

// TestPalette: tokens are distinct and legible in their roles, in both themes.
func TestPalette(t *testing.T) {
	roles := slices.Concat(seriesTokens, textTokens, grounds, frameTokens, faintTokens, draw.Heat)
	for _, c := range draw.Tokens {
		if !slices.Contains(roles, c) {
			t.Errorf("%s has no role: add it to a list of this file", c.Name)
		}
	}
	for family, hue := range chart.Hues {
		if !slices.Contains(seriesTokens, hue) {
			t.Errorf("the hue of %s is not that of a series", family)
		}
	}
	for name, of := range themes {
		bad := slices.Concat(
			alikePairs(seriesTokens, 12, of), findFaint(seriesTokens, 3, of, grounds...),
			findFaint(textTokens, 4.5, of, grounds...), // WCAG 1.4.3
			findFaint(frameTokens, 3, of, draw.Paper),
			unevenTokens(draw.Heat, of))
		if de := distance(linearColour(of(draw.Heat[0])), linearColour(of(draw.Paper))); de < 6 {
			t.Errorf("%s: the first colour of a field and an empty cell are %.1f apart, want 6", name, de)
		}
		for i, ground := range draw.Heat {
			bad = append(bad, findFaint([]draw.Token{draw.TextOn(i)}, 4.5, of, ground)...)
		}
		for _, m := range bad {
			t.Errorf("%s: %s", name, m)
		}
	}
}

// TestTokensStayApart guards the rewriting of colours, which tolerates rounding.
func TestTokensStayApart(t *testing.T) {
	for i, a := range draw.Tokens {
		for _, b := range draw.Tokens[i+1:] {
			if a.Name == b.Name || draw.Near(draw.CSS(a.Light), b.Light) || draw.Near(draw.CSS(a.Light+0x010101), b.Light-0x010101) {
				t.Errorf("%s and %s are too close to tell apart in a drawing", a.Name, b.Name)
			}
		}
	}
}

func TestThemedRejectsStrangers(t *testing.T) {
	if out, err := draw.Themed(`<path style="fill:#1950CC;stroke:#1F2328">#123456</path>`); err != nil || out != `<path style="fill:var(--blue);stroke:var(--ink)">#123456</path>` {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := draw.Themed(`<path style="fill:#123456"/>`); err == nil {
		t.Error("a colour outside the palette was accepted")
	}
}

func TestPaletteIsRejected(t *testing.T) {
	light := themes["light"]
	colours := func(rgb ...uint32) (out []draw.Token) {
		for _, v := range rgb {
			out = append(out, draw.Token{Name: draw.CSS(v), Light: v})
		}
		return out
	}
	for name, c := range map[string]struct {
		got  []string
		want string
	}{
		"Okabe and Ito's yellow on white": {findFaint(colours(0xE69F00, 0xF0E442, 0x009E73), 3, light, draw.Paper), "contrast of #F0E442"},
		"red and green":                   {alikePairs(colours(0xC04030, 0x6A7A20), 12, light), "deutan"},
		"blue and violet":                 {alikePairs(colours(0x3050C8, 0x6048C0), 12, light), "protan"},
		"a line on the shaded zone":       {findFaint(colours(0x63A185), 3, light, grounds...), "with warm"},
		"a rainbow":                       {unevenTokens(colours(0x0000FF, 0x00FFFF, 0x00FF00, 0xFFFF00, 0xFF0000), light), "one way"},
		"three like greys":                {unevenTokens(colours(0xEEEEEE, 0xE4E4E4, 0xDADADA), light), "apart"},
	} {
		if !strings.Contains(strings.Join(c.got, "\n"), c.want) {
			t.Errorf("%s was not rejected: %q", name, c.got)
		}
	}
}
