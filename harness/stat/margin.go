package stat

// DefaultMargin is the practical margin of rates and of what costs time, as a share:
// a difference under it is no reason to choose one lock over another. 5 % is what two
// builds of one lock can differ by because they lie differently in memory (C. Curtsinger,
// E. Berger, "Stabilizer", ASPLOS 2013; T. Mytkowicz et al., "Producing Wrong Data
// Without Doing Anything Obviously Wrong!", ASPLOS 2009), so a smaller difference may
// be no property of the lock.
const DefaultMargin = 0.05

// MaxMargin is the greatest margin that makes any sense: ten times as much.
const MaxMargin = 10

// A Reading is what the interval of a ratio says at a practical margin.
type Reading string

// The readings of how many times as fast (as cheap, as fair …) one case is as another.
const (
	Slower Reading = "slower"         // the other is, by more than the margin: the whole interval says so
	AsGood Reading = "as good"        // the other is, within the margin: the interval leaves no room for more
	Untold Reading = "not told apart" // the interval holds both
)

// Read returns what r, how many times as fast one case is as another, says of the
// other: that it is slower by more than margin, a share, beyond chance at r's level,
// that it is as good, which is shown too, or neither. A case may be better than as good.
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

// Inverse returns the ratio the other way round. The median of an even number of
// ratios is between two of them, so that of their inverses is not quite its inverse.
func (r Ratio) Inverse() Ratio {
	r.Median, r.Lo, r.Hi = 1/r.Median, 1/r.Hi, 1/r.Lo
	return r
}
