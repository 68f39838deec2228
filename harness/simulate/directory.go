//go:build systematic && simulate

package simulate

import (
	"slices"

	"locklab/atomics"
)

func (s *sim) ask(r *request) {
	l := r.line
	if l.asking[r.core.cache] > 0 && (join(l.queue, r) || join(l.coming, r)) {
		return
	}
	l.asking[r.core.cache]++
	if l.busy || len(l.queue) > 0 {
		r.early, r.core.issued = 0, s.now // behind others it gains nothing
	}
	r.at = s.now
	l.queue = append(l.queue, r)
	s.counts.Misses++
	if !l.busy {
		l.busy = true
		s.at(s.now, evServe, l.id) // so that all requests of this instant are in the queue
	}
}

// join lets r share the answer to a request of its core: one fill buffer per line.
func join(requests []*request, r *request) bool {
	for _, q := range requests {
		if q.core.cache == r.core.cache && (q.own || !r.own) {
			q.with = append(q.with, r)
			return true
		}
	}
	return false
}

func (s *sim) next(l *line) {
	if l.busy = len(l.queue) > 0; l.busy {
		s.serve(l)
	}
}

// choose removes the next request: first come, first served, with two exceptions. A limited
// number from the owner's socket go before older ones, and of one instant the directory's
// socket is first.
func (s *sim) choose(l *line) *request {
	best := s.favoured(l)
	if best > 0 {
		l.streak++
	} else {
		l.streak = 0
		best = s.nearHome(l)
	}
	r := l.queue[best]
	l.queue = append(l.queue[:best], l.queue[best+1:]...)
	return r
}

// favoured returns the first request from the owner's socket, or 0 if the limit is
// reached. Source of the rule: fitted, see Machine.Favour.
func (s *sim) favoured(l *line) int {
	if l.owner == none || l.streak >= s.m.Favour {
		return 0
	}
	near := s.m.socket(l.owner)
	return max(0, slices.IndexFunc(l.queue, func(r *request) bool { return s.m.socket(r.core.cache) == near }))
}

func (s *sim) nearHome(l *line) int {
	return max(0, slices.IndexFunc(l.queue, func(r *request) bool { return r.at == l.queue[0].at && s.m.socket(r.core.cache) == l.home }))
}

// serve grants one request. The owner may use the line until the message arrives.
func (s *sim) serve(l *line) {
	r := s.choose(l)
	l.coming = append(l.coming, r)
	if !r.own {
		l.reading[r.core.cache]++
	}
	c := r.core.cache
	var took float64
	switch {
	case l.owner == c: // by the other thread of the core, or in the meantime
		took = s.m.Transfer[sameCore]
	case l.owner != none:
		took = s.transfer(l, c, l.owner)
	case l.copies.empty():
		took = s.fromMemory(l, c)
	case r.own:
		took = s.invalidation(l, c)
	default:
		s.share(l, r)
		return
	}
	all := s.vary(took)
	whole := max(all-r.early, s.hit)
	snoop := min(max(int64(float64(all)*s.m.Window)-r.early, 0), whole)
	l.serving, l.took = r, whole-snoop
	s.at(s.now+snoop, evLeave, l.id)
}

func (s *sim) share(l *line, r *request) {
	took, c := s.m.Hit, r.core.cache
	if !l.copies.has(c) {
		took = s.nearest(l, c)
	}
	r.value = r.access.Word.Get()
	s.fill(l, c)
	s.done(s.now+max(s.vary(took)-r.early, s.hit), r)
	s.at(s.now+s.vary(s.m.Occupy), evFree, l.id)
}

func (s *sim) fill(l *line, c int) {
	l.copies.add(c)
	if s.check != nil {
		s.check.filled(l, c)
	}
}

// leave is called when the snoop has arrived: the line moves to the requesting cache.
func (s *sim) leave(l *line) {
	if l.owner != none && l.locked > s.now { // an instruction in progress is finished
		l.closing = true
		s.at(l.locked, evLeave, l.id)
		return
	}
	r := l.serving
	c := r.core.cache
	l.serving, l.closing = nil, false
	if r.own {
		s.invalidate(l, c)
		s.done(s.now+l.took, r)
		return
	}
	r.value = r.access.Word.Get()
	if l.copies.empty() {
		l.owner = c // exclusive
	} else if l.owner != c {
		l.owner = none
	}
	s.fill(l, c)
	s.done(s.now+l.took, r)
	s.at(s.now+l.took, evFree, l.id)
}

func (s *sim) invalidate(l *line, c int) {
	s.wakeAll(l) // dozing waiters load it once more
	others, had := l.copies, l.copies.has(c)
	others.remove(c)
	s.counts.Invalidated += int64(others.count())
	if l.copies, l.owner = (set{}), none; had {
		l.copies.add(c)
	}
}

func (s *sim) arrive(r *request) {
	l, c := r.line, r.core
	defer s.answered(r)
	at := slices.Index(l.coming, r)
	l.coming = slices.Delete(l.coming, at, at+1)
	l.asking[c.cache]--
	if !r.own {
		l.reading[c.cache]--
		for _, q := range r.with {
			q.core.loaded(q.access.Word.Get())
		}
		c.loaded(r.value)
		return
	}
	l.owner, l.busy = c.cache, false
	l.copies = set{}
	s.fill(l, c.cache)
	s.grant(r)
	for _, q := range r.with {
		if q.own {
			s.grant(q)
		}
	}
	if !l.busy {
		s.next(l)
	}
	for _, q := range r.with { // last, since they continue
		if !q.own {
			q.core.loaded(q.access.Word.Get())
		}
	}
}

// grant executes the operation for which a core requested a line that it now owns.
func (s *sim) grant(r *request) {
	l, c := r.line, r.core
	switch {
	case r.store:
		c.fetched(l)
	case l.locked > s.now: // the other thread uses it
		c.clock, c.asked = l.locked, false
		c.wakes()
	default:
		c.instruct(l, r.access)
	}
}

func (s *sim) apply(l *line, c *core, a atomics.Access) (before uint64) {
	s.wake(l, l.owner)
	if s.check != nil {
		s.check.written(l, c)
	}
	l.changed = s.now
	before = a.Word.Get()
	a.Word.Set(a.After(before))
	return before
}
