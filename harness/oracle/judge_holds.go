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
	switch first := !slices.ContainsFunc(j.Overlaps, func(o Overlap) bool { return o.Promised == x.Promised }); {
	case first && x.Promised:
		j.find(TwoHolders, b.Acquired, to, "worker %d was granted the lock for %v beside worker %d, which held it since %v and could rely on it",
			b.Worker, x.Length, a.Worker, j.since(a.Acquired))
	case first:
		j.find(TwoHolders, b.Acquired, to, "worker %d was granted the lock for %v beside worker %d, which held it since %v and had not been told that it lost it",
			b.Worker, x.Length, a.Worker, j.since(a.Acquired))
	}
	j.Overlaps = append(j.Overlaps, x)
	j.Longest = max(j.Longest, x.Length)
}

// tokens compares the tokens by the rule of Tokens, without holds of unknown order.
func (j *Judgement) tokens(r Rules) {
	if !r.Fenced {
		return
	}
	told := func(h, before *Hold) {
		if j.TokensFell++; j.TokensFell == 1 {
			j.find(TokenFell, h.Acquired, h.Releasing, "worker %d got token %d after worker %d had %d since %v",
				h.Worker, h.Token, before.Worker, before.Token, j.since(before.Acquired))
		}
	}
	var rise rising
	var several []Hold
	for i := range j.Holds {
		h := &j.Holds[i]
		switch {
		case h.Token == 0 || h.Late:
		case r.Permits > 1:
			several = append(several, h.Hold)
		default:
			if before := rise.next(&h.Hold); before != nil {
				told(&h.Hold, before)
			}
		}
	}
	for _, f := range fallen(several, r.Permits) {
		told(f.h, f.before)
	}
}

func (j *Judgement) margins(r Rules) {
	if r.Permits > 1 {
		return
	}
	// next[s] is the next hold that excludes a shared hold, or an exclusive one.
	next := [2]int{-1, -1}
	for i := len(j.Holds) - 1; i >= 0; i-- {
		h := &j.Holds[i]
		n := next[index(h.Shared)]
		if h.Lost && n >= 0 && j.Holds[n].Worker != h.Worker {
			j.Margins = append(j.Margins, time.Duration(j.Holds[n].Acquired-h.Releasing))
		}
		next[0] = i
		if !h.Shared {
			next[1] = i
		}
	}
	slices.Reverse(j.Margins)
}

func index(shared bool) int {
	if shared {
		return 1
	}
	return 0
}
