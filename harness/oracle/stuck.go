package oracle

import (
	"slices"
	"time"
)

// stuck finds the workers left waiting at the end by a free lock: requests older than Prompt,
// if the lock has been free and waited for that long. If it was not granted since the last
// disturbance, it also finds the workers whose attempts since then failed.
func (j *Judgement) stuck(s *sweep, c *collector) {
	prompt := int64(s.r.Prompt)
	most := s.longest(j.End)
	if most.waited > prompt {
		for i := range j.Attempts {
			a := &j.Attempts[i]
			if a.Outcome == Pending && !a.Tried && j.End-a.Asked > prompt && !c.of(a.Worker).paused {
				j.Stuck = append(j.Stuck, a.Worker)
			}
		}
	}
	from, to, waited := most.from, most.to, most.waited
	if len(j.Stuck) == 0 && j.End-max(s.freed, s.last) > prompt {
		j.Stuck = j.failing(s.last)
		from, to, waited = max(s.freed, s.last), j.End, j.End-max(s.freed, s.last)
	}
	if len(j.Stuck) > 0 && j.excused(&s.r, Stuck, from, to, time.Duration(waited), s.r.Prompt) {
		j.Stuck = nil
	}
	if len(j.Stuck) > 0 {
		slices.Sort(j.Stuck)
		j.Stuck = slices.Compact(j.Stuck)
		j.find(Stuck, max(s.freed, s.last), j.End, "%d workers, the first of them %d, could not take the lock, which was free to the end at %v",
			len(j.Stuck), j.Stuck[0], j.since(j.End))
	}
}

func (j *Judgement) failing(at int64) (workers []int) {
	if n := len(j.Holds); n > 0 && j.Holds[n-1].Acquired > at {
		return nil
	}
	for i := range j.Attempts {
		if a := &j.Attempts[i]; a.Asked > at && a.Outcome != Pending {
			workers = append(workers, a.Worker)
		}
	}
	return workers
}
