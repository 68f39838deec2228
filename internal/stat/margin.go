package stat

// DefaultMargin is the tolerance for rates and costs, as a share: a smaller difference is
// no reason to choose one lock over another. Two builds of one lock can differ by 5 %
// because of their layout in memory (C. Curtsinger, E. Berger, "Stabilizer", ASPLOS 2013;
// T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!",
// ASPLOS 2009), so a smaller difference may be no property of the lock.
const DefaultMargin = 0.05

// MaxMargin is the greatest meaningful margin: a factor of ten more.
const MaxMargin = 10

// A Reading is the interpretation of the interval of a ratio with a tolerance.
type Reading string

// The readings of how many times as fast (as cheap, as fair …) one case is as another.
const (
	Slower Reading = "slower"         // the other is slower by more than the margin, over the whole interval
	AsGood Reading = "as good"        // the other is within the margin or better, over the whole interval
	Untold Reading = "not told apart" // inconclusive: the interval allows both
)

// Read interprets r, how many times as fast one case is as another. The other is slower
// by more than margin, a share, significantly at r's level; or it is shown to be as good;
// or neither. A faster case also reads as good.
func (r Ratio) Read(margin float64) Reading {
	switch {
	case !r.Enough():
		return Untold
	case r.Lo > 1+margin:
		return Slower
	case r.Hi <= 1+margin:
		return AsGood
	}
	return Untold
}

// Inverse returns the inverse ratio. The median of an even number of ratios lies between
// two of them, so the inverse's median is not exactly the median of the inverses.
func (r Ratio) Inverse() Ratio {
	r.Median, r.Lo, r.Hi = 1/r.Median, 1/r.Hi, 1/r.Lo
	return r
}
