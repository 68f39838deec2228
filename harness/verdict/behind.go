package verdict

import (
	"slices"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
)

// Cells returns the rounds that v rests on, by the names of the locks that were compared
// in it: those for use and those kept for reference.
func (v Verdict) Cells() map[string]*Cell {
	out := make(map[string]*Cell)
	if v.about.g == nil {
		return out
	}
	for _, s := range v.about.g.At(v.about.workers) {
		if eligible(s.Lock) {
			out[s.Lock.Name] = s.Cells[v.about.workers]
		}
	}
	return out
}

// Ranked returns all locks of the situation, the fastest first. Some of them v did not
// consider.
func (v Verdict) Ranked() []string {
	s := v.about
	if s.g == nil {
		return nil
	}
	s.only = nil
	if s.g.Remote {
		classes := s.g.classes()
		s.only = func(l harness.Lock) bool { return s.g.has(classes[l.Name]) }
	}
	pool, rivals := s.entrants()
	all := slices.Concat(pool, rivals)
	slices.SortStableFunc(all, byRate)
	return names(all)
}

// Considers reports whether the lock to use might have been the named one, by its
// status, its tier and its class.
func (v Verdict) Considers(lock string) bool {
	return v.about.g != nil && slices.ContainsFunc(v.about.contest().pool, func(c candidate) bool { return c.Lock.Name == lock })
}

// Aside returns which lock kept for reference, of the tier and the class of v.Use, was
// shown to be faster than that by more than the margin, of several the one with the highest
// median, and how many times as fast it is; "" if none was. of is how many were measured,
// and told of how many the rounds are enough to tell.
func (v Verdict) Aside() (lock string, times float64, told, of int) {
	if v.about.g == nil {
		return "", 0, 0, 0
	}
	c := v.about.contest()
	i := slices.IndexFunc(c.pool, func(x candidate) bool { return x.Lock.Name == v.Use })
	if i < 0 {
		return "", 0, 0, 0
	}
	for _, r := range c.rivals {
		ratio := c.compare(r, c.pool[i])
		if ratio.Enough() {
			told++
		}
		if ratio.Read(c.margin()) == stat.Slower && ratio.Median > times {
			lock, times = r.Lock.Name, ratio.Median
		}
	}
	return lock, times, told, len(c.rivals)
}

// Fits reports whether a lock of the run may be named for the situation of v: it is of the
// tier of v.Use, or of one that suits the situation.
func (v Verdict) Fits(lock string) bool {
	tier := func(name string) int {
		if c := v.Cells()[name]; c != nil && len(c.Rounds) > 0 {
			return tierOf(c.Rounds[0].Lock)
		}
		return -1
	}
	i := tier(lock)
	return i <= 0 || i == tier(v.Use) || tiers[i].fits(v.about)
}

// Metric returns what v ranks by.
func (v Verdict) Metric() *metric.Metric { return v.about.metric() }

// Workers returns how many workers v is about.
func (v Verdict) Workers() int { return v.about.workers }

// Disturbs reports whether w, of a result that v rests on, speaks against it.
func (v Verdict) Disturbs(w harness.Warning) bool { return !slices.Contains(v.about.usual(), w.Kind) }

// usual returns the kinds of warnings that are no disturbance in s: the servers of a
// remote lock are other processes too, and workers that fill the CPUs wait for them in
// any case.
func (s Situation) usual() []string {
	switch {
	case s.g == nil:
		return nil
	case s.g.Remote:
		return []string{"", "clipped", "others", "pressure"}
	case s.workers >= s.g.CPUs:
		return []string{"pressure"}
	}
	return nil
}
