//go:build systematic && simulate

package simulate

type eventKind uint8

const (
	evCore  eventKind = iota // a core goes on
	evTimer                  // a core has dozed for long enough
	evServe                  // the directory grants a request for a line
	evLeave                  // its owner, or the caches with copies, learn of it
	evFree                   // the line can be asked for again
	evDone                   // an answer arrives
)

// An event has no pointer, so that the heap moves it without write barriers.
type event struct {
	at   int64 // ps
	seq  int64 // of those at the same time the one that was made first goes first
	id   int32 // of a core, a line or a request
	kind eventKind
}

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// events is a heap in which a parent has four children: half as deep as one of two,
// and the children are in a line or two of the cache. Package container/heap would
// take two calls by interface for each comparison.
type events struct {
	heap []event
	seq  int64
}

func (q *events) more() bool { return len(q.heap) > 0 }

// push adds an event and returns its number.
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
	h := q.heap
	top, e := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	q.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
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
	return top
}

// at schedules an event of a core, a line or a request, and returns its number.
func (s *sim) at(t int64, k eventKind, id int) int64 {
	return s.queue.push(event{at: t, kind: k, id: int32(id)})
}

func (s *sim) done(t int64, r *request) { s.at(t, evDone, r.id) }

// horizon is the time until which nothing happens but what the running core does. It
// is never far, so that a worker that waits for ever does not run for ever.
func (s *sim) horizon() int64 {
	h := s.now + longestDoze
	if s.queue.more() {
		h = min(h, s.queue.heap[0].at)
	}
	return h
}
