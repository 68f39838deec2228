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

func linear(rgb uint32) vec {
	f := func(v uint32) float64 {
		x := float64(v&255) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return vec{f(rgb >> 16), f(rgb >> 8), f(rgb)}
}

func apply(m [3]vec, c vec) (out vec) {
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

func mistakes(colours map[string]uint32, grounds ...uint32) (out []string) {
	for name, c := range colours {
		for _, ground := range grounds {
			if r := contrast(linear(c), linear(ground)); r < 3 {
				out = append(out, fmt.Sprintf("contrast of %s with %s is %.2f, want 3", name, draw.CSS(ground), r))
			}
		}
		for vision, m := range visions {
			for other, d := range colours {
				if de := distance(apply(m, linear(c)), apply(m, linear(d))); name < other && de < 12 {
					out = append(out, fmt.Sprintf("%s and %s are %.1f apart for %s vision, want 12", name, other, de, vision))
				}
			}
		}
	}
	return out
}

// The roles of the tokens. A token without a role fails the test.
var (
	seriesTokens = []draw.Token{draw.Ink, draw.Blue, draw.Rust, draw.Sage, draw.Plum, draw.Muted} // lines and marks; muted is for controls and unresolved samples
	textTokens   = []draw.Token{draw.Ink, draw.Muted, draw.Blue, draw.Rust, draw.Good}
	grounds      = []draw.Token{draw.Paper, draw.Warm, draw.Shade} // backgrounds of lines and text
	frameTokens  = []draw.Token{draw.Axis}                         // drawn on paper, 3:1 as graphics
	faintTokens  = []draw.Token{draw.Grid, draw.Ghost}             // carry no information alone
)

var themes = map[string]func(t draw.Token) uint32{
	"light": func(t draw.Token) uint32 { return t.Light },
	"dark":  func(t draw.Token) uint32 { return t.Dark },
}

func values(ts []draw.Token, of func(draw.Token) uint32) (out []uint32) {
	for _, t := range ts {
		out = append(out, of(t))
	}
	return out
}

func TestPalette(t *testing.T) {
	for name, of := range themes {
		series := make(map[string]uint32)
		for _, c := range seriesTokens {
			if c != draw.Muted { // a control is marked by its cross and its dots
				series[c.Name] = of(c)
			}
		}
		for _, m := range mistakes(series, values(grounds, of)...) {
			t.Errorf("%s: %s", name, m)
		}
		for _, m := range faint(textTokens, 4.5, of, grounds...) { // WCAG 1.4.3
			t.Errorf("%s, text: %s", name, m)
		}
		for _, m := range faint(frameTokens, 3, of, draw.Paper) {
			t.Errorf("%s, axes: %s", name, m)
		}
	}
}

func faint(ts []draw.Token, want float64, of func(draw.Token) uint32, grounds ...draw.Token) (out []string) {
	for _, c := range ts {
		for _, g := range grounds {
			if r := contrast(linear(of(c)), linear(of(g))); r < want {
				out = append(out, fmt.Sprintf("contrast of %s with %s is %.2f, want %v", c.Name, g.Name, r, want))
			}
		}
	}
	return out
}

func TestEveryTokenHasARole(t *testing.T) {
	roles := slices.Concat(seriesTokens, textTokens, grounds, frameTokens, faintTokens, draw.Heat)
	for _, c := range draw.Tokens {
		if !slices.Contains(roles, c) {
			t.Errorf("%s has no role: add it to a list of this file, which says what it is checked for", c.Name)
		}
	}
	for _, c := range roles {
		if !slices.Contains(draw.Tokens, c) {
			t.Errorf("%s is not in tokens", c.Name)
		}
	}
	for family, hue := range chart.Hues {
		if !slices.Contains(seriesTokens, hue) {
			t.Errorf("the hue of %s is not that of a series", family)
		}
	}
	for i := range 2 * len(seriesTokens) {
		if hue := chart.ColumnStyle(i).Hue; !slices.Contains(seriesTokens, hue) {
			t.Errorf("the hue of column %d is not that of a series", i)
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
	for name, c := range map[string]struct {
		got  []string
		want string
	}{
		"Okabe and Ito's yellow on white": {mistakes(map[string]uint32{"orange": 0xE69F00, "yellow": 0xF0E442, "green": 0x009E73, "blue": 0x0072B2}, 0xFFFFFF), "contrast of yellow"},
		"red and green":                   {mistakes(map[string]uint32{"red": 0xC04030, "green": 0x6A7A20}, 0xFFFFFF), "deutan"},
		"blue and violet":                 {mistakes(map[string]uint32{"blue": 0x3050C8, "violet": 0x6048C0}, 0xFFFFFF), "protan"},
		"a line on the shaded zone":       {mistakes(map[string]uint32{"sage": 0x63A185}, draw.Paper.Light, draw.Warm.Light), "with " + draw.CSS(draw.Warm.Light)},
		"text in the colour of a line":    {faint([]draw.Token{draw.Sage}, 4.5, light, draw.Paper), "contrast of sage"},
	} {
		if !strings.Contains(strings.Join(c.got, "\n"), c.want) {
			t.Errorf("%s was not rejected: %q", name, c.got)
		}
	}
}
