package oracle

import (
	"math"
	"slices"
	"time"
)

// overlaps finds the holds that began during others, by their ends and by their promises.
func (j *Judgement) overlaps(r Rules, c *collector) {
	all, promised := newInside(r.Permits), newInside(r.Permits)
	for i := range j.Holds {
		h := &j.Holds[i]
		end, promise := h.Releasing, h.Promise
		if h.Open {
			end = math.MaxInt64
		}
		if h.Open && promise == h.Releasing {
			promise = math.MaxInt64
		}
		o, ok := all.against(&h.Hold)
		p, early := promised.against(&h.Hold)
		all.add(&h.Hold, stay{i, end})
		promised.add(&h.Hold, stay{i, promise})
		if !ok {
			continue
		}
		x := Overlap{Earlier: o, Later: i, Length: j.beside(o, i)}
		if early {
			x.Earlier, x.Promised = p, true
		} else if a := &j.Holds[o]; r.Starvation && c.starvedIn(a.Worker, j.Holds[i].Acquired, a.Releasing) {
			j.Starved = append(j.Starved, x)
			continue
		}
		j.overlap(x)
	}
}

func (j *Judgement) beside(a, b int) time.Duration {
	return time.Duration(min(j.Holds[a].Releasing, j.Holds[b].Releasing) - j.Holds[b].Acquired)
}

func (j *Judgement) overlap(x Overlap) {
	a, b := &j.Holds[x.Earlier], &j.Holds[x.Later]
	to := min(a.Releasing, b.Releasing)
	if !slices.ContainsFunc(j.Overlaps, func(o Overlap) bool { return o.Promised == x.Promised }) {
		why := "had not been told that it lost it"
		if x.Promised {
			why = "could rely on it"
		}
		j.find(TwoHolders, b.Acquired, to, "worker %d was granted the lock for %v beside worker %d, which held it since %v and %s",
			b.Worker, x.Length, a.Worker, j.since(a.Acquired), why)
	}
	j.Overlaps = append(j.Overlaps, x)
	j.Longest = max(j.Longest, x.Length)
}

// tokens compares the tokens by the rule of Tokens, without holds of unknown order.
func (j *Judgement) tokens(r Rules) {
	if !r.Fenced {
		return
	}
	var holds []Hold
	for i := range j.Holds {
		if h := &j.Holds[i]; h.Token != 0 && !h.Late {
			holds = append(holds, h.Hold)
		}
	}
	for _, f := range fallen(holds, r.Permits) {
		if j.TokensFell++; j.TokensFell == 1 {
			j.find(TokenFell, f.h.Acquired, f.h.Releasing, "worker %d got token %d after worker %d had %d since %v",
				f.h.Worker, f.h.Token, f.before.Worker, f.before.Token, j.since(f.before.Acquired))
		}
	}
}

func (j *Judgement) margins(r Rules) {
	if r.Permits > 1 {
		return
	}
	_, next := j.neighbours()
	for i, n := range next {
		if h := &j.Holds[i]; h.Lost && n >= 0 && j.Holds[n].Worker != h.Worker {
			j.Margins = append(j.Margins, time.Duration(j.Holds[n].Acquired-h.Releasing))
		}
	}
}

// neighbours returns for each hold the end of the earlier holds that exclude it, and the index
// of the next hold that excludes it, -1 for none.
func (j *Judgement) neighbours() (ended []int64, next []int) {
	ended, next = make([]int64, len(j.Holds)), make([]int, len(j.Holds))
	last, after := [2]int64{math.MinInt64, math.MinInt64}, [2]int{-1, -1} // of all holds, and of the exclusive ones
	for i := range j.Holds {
		h := &j.Holds[i]
		ended[i] = last[index(h.Shared)]
		last[0] = max(last[0], h.Releasing)
		if !h.Shared {
			last[1] = max(last[1], h.Releasing)
		}
	}
	for i := len(j.Holds) - 1; i >= 0; i-- {
		h := &j.Holds[i]
		next[i] = after[index(h.Shared)]
		after[0] = i
		if !h.Shared {
			after[1] = i
		}
	}
	return ended, next
}

// grantOf returns the time of the grant of hold i, or never if i is -1.
func (j *Judgement) grantOf(i int) int64 {
	if i < 0 {
		return never
	}
	return j.Holds[i].Acquired
}

func index(shared bool) int {
	if shared {
		return 1
	}
	return 0
}
