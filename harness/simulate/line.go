//go:build systematic && simulate

package simulate

import (
	"math/bits"

	"locklab/atomics"
)

const (
	lineBytes = 64
	none      = -1
)

type set [maxCaches / 64]uint64

func (s *set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *set) remove(i int)   { s[i/64] &^= 1 << (i % 64) }
func (s *set) empty() bool    { return *s == set{} }

func (s *set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s *set) first(in block) int {
	for k := in.from / 64; k*64 < in.to; k++ {
		if w := s.word(k, in); w != 0 {
			return 64*k + bits.TrailingZeros64(w)
		}
	}
	return none
}

func (s *set) last(in block) int {
	for k := (in.to - 1) / 64; k >= in.from/64 && in.to > in.from; k-- {
		if w := s.word(k, in); w != 0 {
			return 64*k + 63 - bits.LeadingZeros64(w)
		}
	}
	return none
}

func (s *set) word(k int, in block) uint64 {
	w := s[k] & (^uint64(0) << max(in.from-64*k, 0))
	if rest := 64*(k+1) - in.to; rest > 0 {
		w &= ^uint64(0) >> rest
	}
	return w
}

// A line is a cache line and its directory entry: modified or exclusive at its owner, shared
// by copies, or invalid (MESI). Requests that no owner or copy can answer wait in a queue.
// Its fields are together because each request uses most.
type line struct {
	id     int
	key    uintptr // its address, in lines
	home   int     // socket of its directory
	owner  int     // cache, or none
	copies set     // only of the owner if there is one

	queue    []*request
	busy     bool             // a request is served
	serving  *request         // request whose snoop is on its way
	coming   []*request       // served, not arrived yet
	asking   [maxCaches]uint8 // requests by cache, in the queue or coming
	reading  [maxCaches]uint8 // of these, coming for reading
	took     int64            // ps from the arrival of the snoop to the answer
	closing  bool             // the snoop has arrived: no more instructions of the owner
	locked   int64            // an instruction of the owner has the line until then
	changed  int64            // when it was written last
	streak   int              // consecutive requests that went before older ones
	watchers []*core          // waiters that doze until it is invalidated
}

// A request is a miss: a core's request to the directory.
type request struct {
	id     int
	core   *core
	access atomics.Access
	line   *line
	own    bool // for exclusive ownership
	store  bool // from the store buffer: the core does not wait
	value  uint64
	at     int64      // when it was queued
	early  int64      // ps that it had been in progress then
	with   []*request // of other threads of the core, for the same line: one fill buffer
}

type counters struct {
	Misses      int64 // requests to the directory
	Remote      int64 // of them answered from another socket
	Invalidated int64 // copies
}

func (s *sim) line(w atomics.Word, c *core) *line {
	key := w.Address() / lineBytes
	recent := &s.recent[key%recentLines]
	if *recent != nil && (*recent).key == key {
		return *recent
	}
	l := s.lines[key]
	if l == nil {
		l = &line{id: len(s.order), key: key, owner: none, home: s.m.socket(c.cache)}
		if s.m.Interleave {
			l.home = l.id % s.m.Sockets
		}
		s.lines[key] = l
		s.order = append(s.order, l)
	}
	*recent = l
	return l
}

const recentLines = 1 << 10

func (s *sim) request(r request) *request {
	var q *request
	if n := len(s.unused); n > 0 {
		q, s.unused = s.unused[n-1], s.unused[:n-1]
		r.id, r.with = q.id, q.with[:0]
	} else {
		q = new(request)
		r.id = len(s.requests)
		s.requests = append(s.requests, q)
	}
	*q = r
	return q
}

// answered recycles r and the requests that share its answer. Nothing refers to them any more.
func (s *sim) answered(r *request) {
	s.unused = append(append(s.unused, r), r.with...)
}

// holds reports whether cache c can read l at once, owns whether it can write it.
func (l *line) holds(c int) bool { return l.copies.has(c) && !l.awaited(c) }
func (l *line) owns(c int) bool  { return l.owner == c && !l.closing && !l.awaited(c) }

func (l *line) awaited(c int) bool { return l.reading[c] > 0 }
