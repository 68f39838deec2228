package hardware

import (
	"cmp"
	"math"
	"slices"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// Regimes are levels between which a figure jumps: a host moves CPUs, and a handover takes
// three times as long. Their common median may never have occurred, so they are separated.
const (
	regimeGap    = 1.3  // two levels differ by at least this factor
	regimeValley = 0.25 // the density between them is at most this share of the rarer level's
	regimeLeast  = 5    // minimum samples near the middle of a regime
	regimeShare  = 0.03 // minimum share of all samples
)

type peak struct {
	from, to int // samples, to excluded
	at       int // bin of the maximum
	height   float64
	valley   float64 // least density between it and the previous peak
}

// regimesOf divides sorted positive samples into regimes, from fast to slow, at the deep
// valleys of the density of their logarithms between distant maxima with enough samples. An
// outlier is in the nearest regime.
func regimesOf(sorted []float64) [][]float64 {
	if len(sorted) == 0 {
		return nil
	}
	least := max(regimeLeast, int(regimeShare*float64(len(sorted))))
	peaks := peaksOf(sorted)
	for {
		worst, depth := 0, 0.0
		for i := 1; i < len(peaks); i++ {
			a, b := peaks[i-1], peaks[i]
			d := b.valley / min(a.height, b.height)
			apart := float64(b.at-a.at) * binWidth
			if d <= regimeValley && apart >= math.Log(regimeGap) && a.core(sorted) >= least && b.core(sorted) >= least {
				continue
			}
			if worst == 0 || d > depth {
				worst, depth = i, d
			}
		}
		if worst == 0 {
			break
		}
		peaks = slices.Replace(peaks, worst-1, worst+1, join(peaks[worst-1], peaks[worst]))
	}
	var out [][]float64
	for _, p := range peaks {
		out = append(out, sorted[p.from:p.to])
	}
	return out
}

func (p peak) core(sorted []float64) int {
	mode := sorted[0] * math.Exp(float64(p.at)*binWidth)
	from, _ := slices.BinarySearch(sorted[p.from:p.to], mode/regimeGap)
	to, _ := slices.BinarySearch(sorted[p.from:p.to], mode*regimeGap)
	return to - from
}

func join(a, b peak) peak {
	p := a
	if b.height > a.height {
		p = b
	}
	p.from, p.to, p.valley = a.from, b.to, a.valley
	return p
}

// binWidth is the density's resolution, in natural logarithms: an eighth of the least gap.
var binWidth = math.Log(regimeGap) / 8

const smoothBins = 4

// peaksOf returns every local maximum of the density, with the samples between its valleys.
func peaksOf(sorted []float64) []peak {
	bin := func(x float64) int { return int(math.Log(x/sorted[0]) / binWidth) }
	density := make([]float64, bin(sorted[len(sorted)-1])+1)
	for _, x := range sorted {
		for b, d := bin(x), 1-smoothBins; d < smoothBins; d++ {
			if i := b + d; i >= 0 && i < len(density) {
				density[i] += float64(smoothBins - max(d, -d))
			}
		}
	}
	var peaks []peak
	rising, low, lowAt := true, 0.0, 0
	for i, d := range density {
		last := i == len(density)-1
		switch {
		case rising && (last || density[i+1] < d):
			from := 0
			if n := len(peaks); n > 0 {
				from, _ = slices.BinarySearchFunc(sorted, lowAt, func(x float64, b int) int { return bin(x) - b })
				peaks[n-1].to = from
			}
			peaks = append(peaks, peak{from: from, to: len(sorted), at: i, height: d, valley: low})
			rising = false
			low, lowAt = d, i
		case !rising && d <= low:
			low, lowAt = d, i
		}
		if !rising && !last && density[i+1] > d {
			rising = true
		}
	}
	return peaks
}

func regimeOf(regimes [][]float64, x float64) int {
	for i, r := range regimes[:len(regimes)-1] {
		if x <= r[len(r)-1] {
			return i
		}
	}
	return len(regimes) - 1
}

type regime struct {
	samples []float64 // sorted
	pairs   int       // number of pairs with samples in it
}

// groupRegimes merges the regimes of several pairs into sequences of medians without a gap.
func groupRegimes(pairs [][][]float64) []regime {
	type level struct {
		median  float64
		samples []float64
		pair    int
	}
	var levels []level
	for i, regimes := range pairs {
		for _, samples := range regimes {
			levels = append(levels, level{stat.Median(samples), samples, i})
		}
	}
	slices.SortFunc(levels, func(a, b level) int { return cmp.Or(cmp.Compare(a.median, b.median), a.pair-b.pair) })
	var out []regime
	var seen map[int]bool
	for i, l := range levels {
		if i == 0 || l.median > regimeGap*levels[i-1].median {
			out = append(out, regime{})
			seen = make(map[int]bool)
		}
		r := &out[len(out)-1]
		r.samples = append(r.samples, l.samples...)
		if !seen[l.pair] {
			seen[l.pair] = true
			r.pairs++
		}
	}
	for i := range out {
		slices.Sort(out[i].samples)
	}
	return out
}

// medianCell returns the median of samples with its 95 % interval by order statistics, or
// the extremes if there are fewer than six samples.
func medianCell(samples []float64) result.Cell {
	s := stat.Summarize(samples)
	if s.N == 0 {
		return result.Cell{}
	}
	return result.Cell{Median: s.Median, Lo: s.Lo, Hi: s.Hi, N: s.N}
}
