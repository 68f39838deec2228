package draw

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Token is a colour with a meaning. Charts use the light value. Inside a page each token
// becomes a CSS variable of its name, and the reader's theme chooses between light and dark.
type Token struct {
	Name        string
	Light, Dark uint32 // 0xRRGGBB
}

// The palette. The five series colours have an OKLab distance of 12 or more from each other
// for normal, protan, deutan and tritan vision. Their contrast with the paper and with the
// coloured areas is 3:1 or more. A test checks both, and that every token has a role.
var (
	Ink   = Token{"ink", 0x1F2328, 0xE6EDF3}
	Blue  = Token{"blue", 0x1950CD, 0x2D9BEC}
	Rust  = Token{"rust", 0xAA3F09, 0xE27727}
	Sage  = Token{"sage", 0x589878, 0x8ED98A}
	Plum  = Token{"plum", 0x673B6C, 0xA16D87}
	Paper = Token{"paper", 0xFFFFFF, 0x0D1117}
	Muted = Token{"muted", 0x59636E, 0x9198A1}
	Grid  = Token{"grid", 0xE4E7EB, 0x262C36}
	Axis  = Token{"axis", 0x8C959F, 0x656C76}
	Warm  = Token{"warm", 0xFFF4E0, 0x2B2111}
	Shade = Token{"shade", 0xF3F4F6, 0x151B23}
	Ghost = Token{"ghost", 0xC9CED4, 0x3D444D} // background lines for comparison
	Good  = Token{"good", 0x1A7F37, 0x3FB950}  // no objection
)

var Tokens = append([]Token{Ink, Blue, Rust, Sage, Plum, Paper, Muted, Grid, Axis, Warm, Shade, Ghost, Good}, Heat...)

func (t Token) RGBA() color.NRGBA { return t.Alpha(255) }

// Alpha returns the light value of t, as opaque as a, 1 to 255.
func (t Token) Alpha(a uint8) color.NRGBA {
	return color.NRGBA{R: uint8(t.Light >> 16), G: uint8(t.Light >> 8), B: uint8(t.Light), A: a}
}

func CSS(rgb uint32) string { return fmt.Sprintf("#%06X", rgb) }

// A Style is the appearance of a lock in every chart of a report. The hue shows its family.
type Style struct {
	Hue    Token
	Dash   []vg.Length
	Marker draw.GlyphDrawer
	Strong bool // a correct lock; others are thinner
	Hollow bool // simulated: the line is dashed, the marks are rings
	Loose  bool // marks with intervals that no line joins
}

// Seven markers and four dashes share no factor, so 28 columns of a table or machines differ.
var (
	Markers = []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{},
	}
	Dashes = [][]vg.Length{nil, {6, 2.5}, {1.5, 2}, {6, 2, 1.5, 2}}
)

func (s Style) Line() draw.LineStyle {
	w := vg.Points(1.1)
	if s.Strong {
		w = vg.Points(1.9)
	}
	return draw.LineStyle{Color: s.Hue.RGBA(), Width: w, Dashes: s.Dash}
}

// Mark draws s's marker, if any, at p on a disc of paper, so that it is readable on top of other lines.
func (s Style) Mark(c draw.Canvas, p vg.Point) {
	if s.Marker == nil {
		return
	}
	r := vg.Points(2.3)
	if s.Strong {
		r = vg.Points(2.8)
	}
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: Paper.RGBA(), Radius: r + vg.Points(1.1), Shape: draw.CircleGlyph{}}, p)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: s.Hue.RGBA(), Radius: r, Shape: s.Marker}, p)
	if s.Hollow {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: Paper.RGBA(), Radius: r - vg.Points(1), Shape: s.Marker}, p)
	}
}

// Heat are the colours of a field, from the least figure: pale to dark on paper, the reverse
// on a dark page, in even steps of OKLab lightness. A test checks order, steps and contrast.
var Heat = []Token{
	{"heat0", 0xF6F4C5, 0x221B4E},
	{"heat1", 0xCCE4A6, 0x222C6B},
	{"heat2", 0x8CD19E, 0x1E4483},
	{"heat3", 0x59C0AE, 0x185B92},
	{"heat4", 0x2AA3B7, 0x137298},
	{"heat5", 0x1B77AC, 0x089A9A},
	{"heat6", 0x20569A, 0x45BB8F},
	{"heat7", 0x27377D, 0x97D375},
	{"heat8", 0x251C55, 0xE8E67B},
}

// TextOn returns the colour of text on heat[i], the same two in both themes.
func TextOn(i int) Token {
	if i <= 4 {
		return Ink
	}
	return Paper
}

// A HeatScale sorts figures into classes of one colour each.
type HeatScale struct {
	Bounds []float64 // ascending; class i is from bounds[i] to below bounds[i+1]
}

// heatSteps are the steps of a scale in decades, finest first. The first three are the
// preferred numbers R20, R10 and R5 of ISO 3, in two digits.
var heatSteps = []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100}

// NewHeatScale returns the finest scale of round bounds that covers the positive range lo
// to hi with at most one class per colour.
func NewHeatScale(lo, hi float64) (h HeatScale) {
	for _, step := range heatSteps {
		i := math.Floor(math.Log10(lo)/step) + 1
		for heatBound(i*step) > lo {
			i--
		}
		h.Bounds = []float64{heatBound(i * step)}
		for len(h.Bounds) < 2 || h.Bounds[len(h.Bounds)-1] <= hi {
			i++
			h.Bounds = append(h.Bounds, heatBound(i*step))
		}
		if h.Classes() <= len(Heat) {
			break
		}
	}
	return h
}

func heatBound(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(math.Pow(10, x), 'g', 2, 64), 64)
	return v
}

func (h HeatScale) Classes() int { return len(h.Bounds) - 1 }

func (h HeatScale) Class(v float64) int {
	i, exact := slices.BinarySearch(h.Bounds, v)
	if !exact {
		i--
	}
	return max(0, min(i, h.Classes()-1))
}

// Colour returns the index in heat of a class; few classes have close colours.
func (h HeatScale) Colour(class int) int {
	n := h.Classes()
	if n == 1 {
		return 2
	}
	last := float64(len(Heat) - 1)
	step := math.Min(2, last/float64(n-1))
	return int(math.Round((last-step*float64(n-1))/2 + step*float64(class)))
}
