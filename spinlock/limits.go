//go:build !systematic || simulate

package spinlock

// malthusianPeriod is the releases until the longest passive worker is served, as in the paper.
const malthusianPeriod = 1000

// fissileGrace is the number of waits, each up to the next yield, before the alpha becomes
// impatient: a few microseconds. From 5 to 1000 polls, speed and fairness hardly differed.
const fissileGrace = 20
