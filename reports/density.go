package reports

import (
	"math"

	"locklab/harness"
	"locklab/harness/metric"
)

// A shapeScale is the axis that shapes share.
type shapeScale struct{ lo, hi, floor float64 }

// x returns the middle of bin i.
func (s shapeScale) x(i int) float64 {
	return s.lo * math.Pow(s.hi/s.lo, (float64(i)+0.5)/shapeBins)
}

// bin returns where x is, in bins.
func (s shapeScale) bin(x float64) float64 {
	return shapeBins*math.Log(x/s.lo)/math.Log(s.hi/s.lo) - 0.5
}

func newShapeScale(xs []*shape, floor float64) shapeScale {
	lo, hi := math.Inf(1), 1.0
	for _, x := range xs {
		lo = min(lo, max(1, x.h.Quantile(0.001)))
		hi = max(hi, x.h.Quantile(max(0.99, min(0.999, metric.Resolved(x.n)))))
	}
	if lo < floor { // show that there is a floor, not what lies under it
		_, hi = logRange(floor, max(hi, 2*floor))
		return shapeScale{floor / 4, hi, floor}
	}
	lo, hi = logRange(lo, hi)
	return shapeScale{lo, hi, 0}
}

// measure finds the density and the modes of x.
func (x *shape) measure(scale shapeScale) {
	raw := make([]float64, shapeBins)
	var under, over int64
	for _, b := range x.h {
		switch v := float64(b.Value); {
		case b.N <= 0:
		case v < scale.floor || v < 1:
			under += b.N
		default:
			i := int(math.Round(scale.bin(v)))
			if i >= shapeBins {
				over += b.N
			} else {
				raw[max(0, i)] += float64(b.N)
			}
		}
	}
	total := float64(x.n)
	x.under = float64(under) / total
	from := 0
	if scale.floor > 0 {
		from = max(0, min(shapeBins-1, int(math.Ceil(scale.bin(scale.floor)))))
	}
	x.density = smooth(raw, from, shapeSmooth*shapeBins/math.Log10(scale.hi/scale.lo))
	for i := range x.density {
		x.density[i] /= total
	}
	if x.under >= modeShare {
		x.modes = append(x.modes, mode{scale.floor, x.under, true})
	}
	x.modes = append(x.modes, modes(x.density, scale)...)
}

// smooth spreads each of raw over its neighbours by a normal kernel with a
// deviation of dev bins, and keeps what would fall before from in its place.
func smooth(raw []float64, from int, dev float64) []float64 {
	out := make([]float64, len(raw))
	dev = max(dev, 0.6)
	reach := int(math.Ceil(3 * dev))
	kernel := make([]float64, 2*reach+1)
	for i := range kernel {
		d := float64(i-reach) / dev
		kernel[i] = math.Exp(-d * d / 2)
	}
	for i, n := range raw {
		if n == 0 {
			continue
		}
		sum := 0.0
		for k := max(i-reach, from); k <= min(i+reach, len(raw)-1); k++ {
			sum += kernel[k-i+reach]
		}
		if !(sum > 0) {
			out[i] += n
			continue
		}
		for k := max(i-reach, from); k <= min(i+reach, len(raw)-1); k++ {
			out[k] += n * kernel[k-i+reach] / sum
		}
	}
	return out
}

// modes returns those of density: between two of them it falls to a part of
// either, and each holds a share that counts. What is too small to count belongs
// to its neighbour.
func modes(density []float64, scale shapeScale) (out []mode) {
	type part struct {
		peak int
		end  int // the valley after it
		mass float64
	}
	var parts []part
	for i := 0; i < len(density); { // from valley to valley
		top := i
		k := i
		for k < len(density) {
			if density[k] >= density[top] {
				top = k
			} else if density[k] <= modeDip*density[top] && rises(density, k, modeDip) {
				break
			}
			k++
		}
		if density[top] > 0 {
			parts = append(parts, part{peak: top, end: k})
		}
		i = k + 1
	}
	from := 0
	for i := range parts {
		for k := from; k <= min(parts[i].end, len(density)-1); k++ {
			parts[i].mass += density[k]
		}
		from = parts[i].end + 1
	}
	for _, p := range parts {
		if p.mass >= modeShare {
			out = append(out, mode{at: scale.x(p.peak), share: p.mass})
		} else if len(out) > 0 {
			out[len(out)-1].share += p.mass
		}
	}
	return out
}

// rises reports whether density, which has fallen to that at k, has its least
// here before it rises to a multiple of it.
func rises(density []float64, k int, dip float64) bool {
	low := density[k]
	for _, v := range density[k+1:] {
		if v < low {
			return false // the valley is further on
		}
		if v*dip >= low && v > low {
			return true
		}
	}
	return false
}

const (
	leastSamples = 100 // for a shape
	modeShare    = 0.03
	modeDip      = 0.5 // of a mode, between it and its neighbour

	shapeBins   = 180
	shapeSmooth = 0.04 // decades: the deviation of the kernel
)

// A shape is the distribution of one lock's waits.
type shape struct {
	s       *series
	h       harness.Histogram
	n       int64
	under   float64   // share of the waits below the floor
	density []float64 // over the bins of the scale, without what is below the floor
	modes   []mode
}

// A mode is a peak of the density: waits of one kind.
type mode struct {
	at    float64 // ns
	share float64 // of the waits
	floor bool    // it lies under the floor
}
