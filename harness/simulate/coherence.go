//go:build systematic && simulate

package simulate

import (
	"fmt"
	"math/bits"
	"slices"

	"locklab/atomics"
)

const (
	lineBytes = 64
	none      = -1
)

// A set is a set of caches.
type set [maxCaches / 64]uint64

func (s *set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *set) empty() bool    { return *s == set{} }

func (s *set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s *set) each(f func(i int)) {
	for k, w := range s {
		for ; w != 0; w &= w - 1 {
			f(64*k + bits.TrailingZeros64(w))
		}
	}
}

// A line is a cache line and its entry in the directory. It is modified or
// exclusive at its owner, or shared by copies, or in memory only. Requests that
// its owner or the copies cannot answer are served one after the other.
type line struct {
	id     int
	owner  int // cache, or none
	copies set // of the owner alone if there is one

	queue    []*request
	busy     bool       // a request is served
	serving  *request   // the one whose snoop is on its way
	coming   []*request // served, and not there yet
	took     int64      // how long the rest will take
	closing  bool       // the snoop has arrived: no more instructions of the owner
	locked   int64      // an instruction of the owner has the line until then
	streak   int        // requests in a row that went before older ones
	watchers []*core
}

// A request is a miss: what a core asks the directory for.
type request struct {
	core   *core
	access atomics.Access
	line   *line
	own    bool // to be the only one that has the line
	store  bool // from the store buffer: the core does not wait
	value  uint64
	with   []*request // of other threads of the core, for the same line: one fill buffer
}

// Counts are what the caches did.
type Counts struct {
	Misses      int64 // requests to the directory
	Remote      int64 // of them answered from another socket
	Invalidated int64 // copies
	Hits        int64
}

func (s *Sim) line(w atomics.Word) *line {
	key := w.Address() / lineBytes
	l := s.lines[key]
	if l == nil {
		l = &line{id: len(s.lines), owner: none}
		s.lines[key] = l
		s.order = append(s.order, l)
	}
	return l
}

// holds reports whether cache c can read l at once, owns whether it can write it.
func (l *line) holds(c int) bool { return l.copies.has(c) }
func (l *line) owns(c int) bool  { return l.owner == c && !l.closing }

// ask queues a request.
func (s *Sim) ask(r *request) {
	l := r.line
	if s.m.SMT > 1 && (l.join(l.queue, r) || l.join(l.coming, r)) {
		return
	}
	l.queue = append(l.queue, r)
	s.counts.Misses++
	s.tell("core %d asks the directory to %s line %d, state %s; %d ahead", r.core.id, r.verb(), l.id, l.state(), len(l.queue)-1)
	s.next(l)
}

// state is the state of the line in words.
func (l *line) state() string {
	switch n := l.copies.count(); {
	case l.owner != none:
		return fmt.Sprintf("M or E at cache %d", l.owner)
	case n > 0:
		return fmt.Sprintf("S in %d caches", n)
	case l.busy:
		return "on its way"
	}
	return "I (in memory only)"
}

// join lets r share the answer to another request of its core.
func (l *line) join(requests []*request, r *request) bool {
	for _, q := range requests {
		if q.core.cache == r.core.cache && q.own == r.own {
			q.with = append(q.with, r)
			return true
		}
	}
	return false
}

func (r *request) verb() string {
	if r.own {
		return "own"
	}
	return "read"
}

// next serves the next request for l, if it is time.
func (s *Sim) next(l *line) {
	if l.busy || len(l.queue) == 0 {
		return
	}
	l.busy = true
	s.at(s.now, evServe, l.id)
}

// choose takes the request out of the queue that is served next.
func (s *Sim) choose(l *line) *request {
	best := 0
	if l.owner != none && l.streak < s.m.Favour {
		near := func(r *request) bool { return s.m.socket(r.core.cache) == s.m.socket(l.owner) }
		for i, r := range l.queue {
			if near(r) {
				best = i
				break
			}
		}
	}
	if best > 0 {
		l.streak++
	} else {
		l.streak = 0
	}
	r := l.queue[best]
	l.queue = append(l.queue[:best], l.queue[best+1:]...)
	return r
}

// serve sends for the line in answer to one request. Its owner may use it until
// the message has arrived there.
func (s *Sim) serve(l *line) {
	r := s.choose(l)
	if s.m.SMT > 1 {
		l.coming = append(l.coming, r)
	}
	c := r.core.cache
	var took float64
	switch {
	case l.owner == c: // by the other thread of the core, or in the meantime
		took = s.m.Transfer[sameCore]
	case l.owner != none:
		took = s.transfer(c, l.owner)
	case l.copies.empty():
		took = s.m.Memory
	case r.own:
		took = s.invalidation(l, c)
	default: // a copy of a copy, and the next one is served soon
		if took = s.m.Hit; !l.copies.has(c) {
			took = s.nearest(l, c)
		}
		r.value = r.access.Word.Get()
		l.copies.add(c)
		s.done(s.now+s.vary(took), r)
		s.at(s.now+s.vary(s.m.Occupy), evFree, l.id)
		return
	}
	snoop := s.vary(took * s.m.Window)
	l.serving, l.took = r, max(s.vary(took)-snoop, 0)
	s.tell("directory serves core %d (%s): message to the cache that has the line; arrives in %.1f ns, the answer %.1f ns later", r.core.id, r.verb(), float64(snoop)/1000, float64(l.took)/1000)
	s.at(s.now+snoop, evLeave, l.id)
}

// leave is when the message has arrived: the line goes to the cache that asked.
func (s *Sim) leave(l *line) {
	if l.owner != none && l.locked > s.now {
		l.closing = true
		s.at(l.locked, evLeave, l.id)
		return
	}
	r := l.serving
	c := r.core.cache
	l.serving, l.closing = nil, false
	if r.own {
		s.wake(l, -1) // waiters that doze load it once more
		l.copies.each(func(i int) {
			if i != c {
				s.counts.Invalidated++
				s.tell("cache %d: its copy is invalid", i)
			}
		})
		l.copies, l.owner = set{}, none // on its way
	} else {
		r.value = r.access.Word.Get()
		if l.copies.empty() {
			l.owner = c // exclusive
		} else if l.owner != c {
			l.owner = none
		}
		l.copies.add(c)
	}
	s.done(s.now+l.took, r)
	if !r.own {
		s.at(s.now+l.took, evFree, l.id)
	}
}

// transfer is the time from cache from to cache to.
func (s *Sim) transfer(to, from int) float64 {
	d := s.m.distance(to, from)
	if d == otherSocket {
		s.counts.Remote++
	}
	return s.m.Transfer[d]
}

// nearest is the time that the nearest copy takes to c.
func (s *Sim) nearest(l *line, c int) float64 {
	best := otherSocket
	l.copies.each(func(i int) { best = min(best, s.m.distance(c, i)) })
	if best == otherSocket {
		s.counts.Remote++
	}
	return s.m.Shared[best]
}

// invalidation is the time until all copies but that of c are gone and, if it
// has none, c has one.
func (s *Sim) invalidation(l *line, c int) float64 {
	worst, n := sameCluster, 0
	l.copies.each(func(i int) {
		if i != c {
			n++
			worst = max(worst, s.m.distance(c, i))
		}
	})
	if n == 0 {
		return s.m.Shared[sameCluster] // it asks the directory
	}
	if worst == otherSocket {
		s.counts.Remote++
	}
	took := s.m.Upgrade[worst]
	if took == 0 {
		took = s.m.Transfer[worst]
	}
	return took + s.m.Ack*float64(n-1)
}

// arrive is the end of a request: the core has the line.
func (s *Sim) arrive(r *request) {
	l, c := r.line, r.core
	if s.m.SMT > 1 {
		l.coming = slices.DeleteFunc(l.coming, func(q *request) bool { return q == r })
	}
	if !r.own {
		s.tell("core %d has read %d", c.id, r.value)
		c.resumes(s.now, r.value)
		for _, q := range r.with {
			q.core.resumes(s.now, q.access.Word.Get())
		}
		return
	}
	l.owner, l.busy = c.cache, false
	s.tell("cache %d has the line alone: M", c.cache)
	l.copies = set{}
	l.copies.add(c.cache)
	for _, q := range append([]*request{r}, r.with...) {
		s.grant(q)
	}
	s.next(l)
}

// grant does what a core wanted a line for that it owns now.
func (s *Sim) grant(r *request) {
	l, c := r.line, r.core
	switch {
	case r.store:
		c.fetched(l)
	case l.locked > s.now: // the other thread is at it
		c.clock, c.asked = l.locked, false
		c.wakes()
	default:
		c.instruct(l, r.access)
	}
}

// apply does an access to a line that its core owns.
func (s *Sim) apply(l *line, a atomics.Access) (before uint64) {
	s.wake(l, l.owner)
	before = a.Word.Get()
	a.Word.Set(a.After(before))
	return before
}
