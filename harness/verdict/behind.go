package verdict

import (
	"slices"

	"locklab/harness"
	"locklab/harness/metric"
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

// Considers reports whether the lock to use might have been the named one, by its
// status, its tier and its class.
func (v Verdict) Considers(lock string) bool {
	return v.about.g != nil && slices.ContainsFunc(v.about.contest().pool, func(c candidate) bool { return c.Lock.Name == lock })
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
