package chart

import (
	"slices"

	"locklab/reports/draw"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
)

var Hues = map[harness.Family]draw.Token{
	harness.Spin:      draw.Blue,
	harness.Blocking:  draw.Rust,
	harness.ZooKeeper: draw.Sage,
	harness.Redis:     draw.Plum,
	harness.Peer:      draw.Ink,
}

func hueOf(f harness.Family) draw.Token {
	if hue, known := Hues[f]; known {
		return hue
	}
	return draw.Ink
}

// styleOf returns the style of lock in all charts.
func styleOf(lock harness.Lock) draw.Style {
	s := draw.Style{Name: lock.Name, Family: slices.Index(harness.Families, lock.Family), Hue: hueOf(lock.Family), Strong: lock.Status.Competes(), Marker: vgdraw.CircleGlyph{}}
	if lock.Status == harness.Control {
		s.Hue, s.Marker = draw.Muted, vgdraw.CrossGlyph{}
	}
	return s
}

// simulated returns s for figures of a model.
func simulated(s draw.Style) draw.Style {
	s.Dash, s.Hollow = []vg.Length{5, 2.5}, true
	return s
}
