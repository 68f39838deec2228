package reports

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Colour distance under simulated colour blindness. Sources: B. Ottosson,
// "A perceptual color space for image processing", 2020 (OKLab); G. Machado,
// M. Oliveira, L. Fernandes, "A Physiologically-based Model for Simulation of
// Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1; WCAG 2.2, 1.4.11
// (contrast of graphics, 3:1).

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

// distance is the OKLab distance times 100.
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

// mistakes lists which colours are too close to each other or to the paper.
func mistakes(colours map[string]uint32, paper uint32) (out []string) {
	for name, c := range colours {
		if r := contrast(linear(c), linear(paper)); r < 3 {
			out = append(out, fmt.Sprintf("contrast of %s is %.1f, want 3", name, r))
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

func TestPalette(t *testing.T) {
	light, dark := make(map[string]uint32), make(map[string]uint32)
	for _, c := range []token{ink, blue, rust, sage, plum} {
		light[c.name], dark[c.name] = c.light, c.dark
	}
	for _, m := range append(mistakes(light, paper.light), mistakes(dark, paper.dark)...) {
		t.Error(m)
	}
	for _, c := range []token{ink, muted} { // text: WCAG 1.4.3
		if l, d := contrast(linear(c.light), linear(paper.light)), contrast(linear(c.dark), linear(paper.dark)); l < 4.5 || d < 4.5 {
			t.Errorf("contrast of text in %s is %.1f and %.1f, want 4.5", c.name, l, d)
		}
		if r := contrast(linear(c.light), linear(warm.light)); r < 4.5 {
			t.Errorf("contrast of text in %s on the shaded zone is %.1f, want 4.5", c.name, r)
		}
	}
	// The checker must reject what is known to be bad.
	okabeIto := map[string]uint32{"orange": 0xE69F00, "yellow": 0xF0E442, "green": 0x009E73, "blue": 0x0072B2}
	if got := strings.Join(mistakes(okabeIto, 0xFFFFFF), "\n"); !strings.Contains(got, "contrast of yellow") {
		t.Errorf("yellow on white was not rejected: %s", got)
	}
	redGreen := map[string]uint32{"red": 0xC04030, "green": 0x6A7A20}
	if got := strings.Join(mistakes(redGreen, 0xFFFFFF), "\n"); !strings.Contains(got, "deutan") {
		t.Errorf("red and green were not rejected: %q", got)
	}
}

// TestTokensStayApart guards the rewriting of SVG colours to CSS variables,
// which allows for the rounding of translucent colours.
func TestTokensStayApart(t *testing.T) {
	for i, a := range tokens {
		for _, b := range tokens[i+1:] {
			if a.name == b.name || near(css(a.light), b.light) || near(css(a.light+0x010101), b.light-0x010101) {
				t.Errorf("%s and %s are too close to tell apart in a drawing", a.name, b.name)
			}
		}
	}
}

func TestThemedRejectsStrangers(t *testing.T) {
	if out, err := themed(`<path style="fill:#1950CC;stroke:#1F2328">#123456</path>`); err != nil || out != `<path style="fill:var(--blue);stroke:var(--ink)">#123456</path>` {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := themed(`<path style="fill:#123456"/>`); err == nil {
		t.Error("a colour outside the palette was accepted")
	}
}
