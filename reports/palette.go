package reports

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
)

// A token is a colour with a meaning. Charts use the light value. Inside a page each token
// becomes a CSS variable of its name, and the reader's theme chooses between light and
// dark.
type token struct {
	name        string
	light, dark uint32 // 0xRRGGBB
}

// The palette. The five series colours have an OKLab distance of 12 or more from each other
// for normal, protan, deutan and tritan vision. Their contrast with the paper and with the
// coloured areas is 3:1 or more. A test checks both, and that every token has a role.
var (
	ink   = token{"ink", 0x1F2328, 0xE6EDF3}
	blue  = token{"blue", 0x1950CD, 0x2D9BEC}
	rust  = token{"rust", 0xAA3F09, 0xE27727}
	sage  = token{"sage", 0x589878, 0x8ED98A}
	plum  = token{"plum", 0x673B6C, 0xA16D87}
	paper = token{"paper", 0xFFFFFF, 0x0D1117}
	muted = token{"muted", 0x59636E, 0x9198A1}
	grid  = token{"grid", 0xE4E7EB, 0x262C36}
	axis  = token{"axis", 0x8C959F, 0x656C76}
	warm  = token{"warm", 0xFFF4E0, 0x2B2111}
	shade = token{"shade", 0xF3F4F6, 0x151B23}
	ghost = token{"ghost", 0xC9CED4, 0x3D444D} // background lines for comparison
	good  = token{"good", 0x1A7F37, 0x3FB950}  // no objection
)

var tokens = append([]token{ink, blue, rust, sage, plum, paper, muted, grid, axis, warm, shade, ghost, good}, heat...)

func (t token) rgba() color.NRGBA { return t.alpha(255) }

// alpha returns the light value of t, as opaque as a, 1 to 255.
func (t token) alpha(a uint8) color.NRGBA {
	return color.NRGBA{R: uint8(t.light >> 16), G: uint8(t.light >> 8), B: uint8(t.light), A: a}
}

func css(rgb uint32) string { return fmt.Sprintf("#%06X", rgb) }

// A look is the appearance of a lock in every chart of a report. The hue shows its family;
// dash and marker are its own.
type look struct {
	name   string
	family int // index in harness.Families
	hue    token
	dash   []vg.Length
	marker draw.GlyphDrawer
	strong bool // a recommendable lock; others are thinner
	hollow bool // simulated: the line is dashed, the marks are rings
}

var hues = map[harness.Family]token{
	harness.Spin:      blue,
	harness.Blocking:  rust,
	harness.ZooKeeper: sage,
	harness.Redis:     plum,
	harness.Peer:      ink,
}

// Seven markers and four dashes share no factor, so 28 locks of a family
// differ.
var (
	markers = []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{},
	}
	dashes = [][]vg.Length{nil, {6, 2.5}, {1.5, 2}, {6, 2, 1.5, 2}}
)

// assignLooks gives every lock one look for all charts.
func assignLooks(results []*harness.Result) map[string]look {
	locks := make(map[string]harness.Lock)
	var names []string
	for _, r := range results {
		if _, ok := locks[r.Lock.Name]; !ok {
			names = append(names, r.Lock.Name)
		}
		locks[r.Lock.Name] = r.Lock
	}
	slices.Sort(names)
	looks := make(map[string]look)
	members := make(map[harness.Family]int)
	for _, name := range names {
		lock := locks[name]
		hue, known := hues[lock.Family]
		if !known {
			hue = ink
		}
		l := look{name: name, family: slices.Index(harness.Families, lock.Family), hue: hue, strong: lock.Status == harness.Recommended}
		if lock.Status == harness.Control {
			l.hue, l.dash, l.marker = muted, dashes[2], draw.CrossGlyph{}
		} else {
			i := members[lock.Family]
			members[lock.Family]++
			l.dash, l.marker = dashes[i%len(dashes)], markers[i%len(markers)]
		}
		looks[name] = l
	}
	return looks
}

// faultLooks extends assignLooks to the locks of the failure scenarios of run. Measured
// locks look as in the other charts.
func faultLooks(run *result.Run) map[string]look {
	all := slices.Clone(run.Results)
	looks := assignLooks(all)
	for _, f := range run.Faults {
		if _, known := looks[f.Lock.Name]; !known {
			all = append(all, &harness.Result{Lock: f.Lock})
		}
	}
	for name, l := range assignLooks(all) {
		if _, known := looks[name]; !known {
			looks[name] = l
		}
	}
	return looks
}

// Three shapes and four dashes share no factor, so 12 locks of a family differ.
var (
	modelShapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	modelDashes = [][]vg.Length{{5, 2.5}, {1.5, 2}, {6, 2, 1.5, 2}, {2.5, 4}}
)

// modelLooks gives every simulated lock a look that no measured lock has: dashed lines and
// hollow marks.
func modelLooks(locks []harness.Lock) map[string]look {
	looks := make(map[string]look)
	for i, lock := range locks {
		hue, known := hues[lock.Family]
		if !known {
			hue = ink
		}
		looks[lock.Name] = look{name: lock.Name, family: slices.Index(harness.Families, lock.Family), hue: hue, strong: lock.Status == harness.Recommended,
			dash: modelDashes[i%len(modelDashes)], marker: modelShapes[i%len(modelShapes)], hollow: true}
	}
	return looks
}

// filled returns l for the measured figures of a simulated lock.
func (l look) filled() look {
	l.hollow, l.dash = false, nil
	return l
}

func (l look) compare(m look) int {
	return cmp.Or(cmp.Compare(l.family, m.family), cmp.Compare(l.name, m.name))
}

func (l look) line() draw.LineStyle {
	w := vg.Points(1.1)
	if l.strong {
		w = vg.Points(1.9)
	}
	return draw.LineStyle{Color: l.hue.rgba(), Width: w, Dashes: l.dash}
}

// mark draws l's marker at p on a disc of paper, so that it is readable on top of other
// lines.
func (l look) mark(c draw.Canvas, p vg.Point) {
	r := vg.Points(2.3)
	if l.strong {
		r = vg.Points(2.8)
	}
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: paper.rgba(), Radius: r + vg.Points(1.1), Shape: draw.CircleGlyph{}}, p)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: l.hue.rgba(), Radius: r, Shape: l.marker}, p)
	if l.hollow {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: paper.rgba(), Radius: r - vg.Points(1), Shape: l.marker}, p)
	}
}

// heat are the colours of a field, from the least figure to the greatest: pale to dark on
// paper, dark to pale on a dark page. Their lightness rises in even steps of OKLab, so the
// order is visible without hues. A test checks the order, the steps for colour-blind
// readers, and the contrast of text on each.
var heat = []token{
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

// textOn returns the colour of text on heat[i]: both themes switch between the same two
// colours.
func textOn(i int) token {
	if i <= 4 {
		return ink
	}
	return paper
}
