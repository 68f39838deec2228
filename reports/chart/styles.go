package chart

import (
	"maps"
	"slices"

	"locklab/reports/draw"

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

func styleOf(lock harness.Lock) draw.Style {
	return draw.Style{Name: lock.Name, Family: slices.Index(harness.Families, lock.Family), Hue: hueOf(lock.Family), Strong: !Unsound(lock.Status) && lock.Status != harness.Control}
}

// AssignStyles gives every lock one style for all charts.
func AssignStyles(results []*harness.Result) map[string]draw.Style {
	locks := make(map[string]harness.Lock)
	for _, r := range results {
		locks[r.Lock.Name] = r.Lock
	}
	styles := make(map[string]draw.Style)
	members := make(map[harness.Family]int)
	for _, name := range slices.Sorted(maps.Keys(locks)) {
		lock := locks[name]
		l := styleOf(lock)
		if lock.Status == harness.Control {
			l.Hue, l.Dash, l.Marker = draw.Muted, draw.Dashes[2], vgdraw.CrossGlyph{}
		} else {
			i := members[lock.Family]
			members[lock.Family]++
			l.Dash, l.Marker = draw.Dashes[i%len(draw.Dashes)], draw.Markers[i%len(draw.Markers)]
		}
		styles[name] = l
	}
	return styles
}

// modelStyles gives each simulated lock dashed lines and hollow marks.
func modelStyles(locks []harness.Lock) map[string]draw.Style {
	styles := make(map[string]draw.Style)
	for i, lock := range locks {
		l := styleOf(lock)
		l.Dash, l.Marker, l.Hollow = draw.ModelDashes[i%len(draw.ModelDashes)], draw.ModelShapes[i%len(draw.ModelShapes)], true
		styles[lock.Name] = l
	}
	return styles
}
