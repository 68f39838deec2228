package stat

// DefaultMargin is the tolerance for rates and costs, as a share. Two builds of one lock can
// differ by 5 % because of their layout in memory (C. Curtsinger, E. Berger, "Stabilizer",
// ASPLOS 2013; T. Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously
// Wrong!", ASPLOS 2009), so a smaller difference may be no property of the lock.
const DefaultMargin = 0.05

// MaxMargin is the greatest meaningful margin: a factor of ten more.
const MaxMargin = 10

// Inverse returns the inverse ratio; its median is not exactly the median of the inverses.
func (r Ratio) Inverse() Ratio {
	r.Median, r.Lo, r.Hi = 1/r.Median, 1/r.Hi, 1/r.Lo
	return r
}
