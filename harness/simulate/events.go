//go:build systematic && simulate

package simulate

type eventKind uint8

const (
	evCore  eventKind = iota // a core continues
	evTimer                  // a core has dozed for long enough
	evServe                  // the directory grants a request for a line
	evLeave                  // its owner, or the caches with copies, learn of it
	evFree                   // the line can be requested again
	evDone                   // an answer arrives
)

// An event has no pointer, so that the heap moves it without write barriers.
type event struct {
	at   int64 // ps
	seq  int64 // events of the same time run in order of creation
	id   int32 // of a core, a line or a request
	kind eventKind
}

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// events is a heap with four children per node: half as deep as a binary one, and children
// share a cache line.
type events struct {
	heap []event
	seq  int64
}

func (q *events) push(e event) int64 {
	q.seq++
	e.seq = q.seq
	h := append(q.heap, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	q.heap = h
	return e.seq
}

func (q *events) pop() event {
	first, n := q.heap[0], len(q.heap)-1
	last := q.heap[n]
	if q.heap = q.heap[:n]; n > 0 {
		q.sink(last)
	}
	return first
}

func (q *events) sink(e event) {
	h, i := q.heap, 0
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for k := first + 1; k < min(first+4, len(h)); k++ {
			if h[k].before(&h[least]) {
				least = k
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}

func (s *sim) at(t int64, k eventKind, id int) int64 {
	return s.queue.push(event{at: t, kind: k, id: int32(id)})
}

func (s *sim) done(t int64, r *request) { s.at(t, evDone, r.id) }

// horizon is the time until which only the running core acts. It is never far, so that a
// worker that waits forever does not run forever.
func (s *sim) horizon() int64 {
	h := s.now + longestDoze
	if len(s.queue.heap) > 0 {
		h = min(h, s.queue.heap[0].at)
	}
	return h
}
