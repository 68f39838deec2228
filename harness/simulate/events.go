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

type event struct {
	at     int64 // ps
	seq    int64 // of those at the same time the one that was made first goes first
	kind   eventKind
	id     int // of a core or a line
	ticket int64
	r      *request
}

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// events is a heap. Package container/heap would take two calls by interface for each
// comparison, which are most of what a run does.
type events struct {
	heap []event
	seq  int64
}

func (q *events) more() bool { return len(q.heap) > 0 }

func (q *events) push(e event) {
	q.seq++
	e.seq = q.seq
	h := append(q.heap, e)
	i := len(h) - 1
	for i > 0 && e.before(&h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
	q.heap = h
}

func (q *events) pop() event {
	h := q.heap
	top, e := h[0], h[len(h)-1]
	h[len(h)-1] = event{} // its request can go
	h = h[:len(h)-1]
	i := 0
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && h[k+1].before(&h[k]) {
			k++
		}
		if !h[k].before(&e) {
			break
		}
		h[i] = h[k]
		i = k
	}
	if len(h) > 0 {
		h[i] = e
	}
	q.heap = h
	return top
}

func (s *sim) push(e event)                    { s.queue.push(e) }
func (s *sim) at(t int64, k eventKind, id int) { s.push(event{at: t, kind: k, id: id}) }
func (s *sim) done(t int64, r *request)        { s.push(event{at: t, kind: evDone, r: r}) }

// horizon is the time until which nothing happens but what the running core does. It
// is never far, so that a worker that waits for ever does not run for ever.
func (s *sim) horizon() int64 {
	h := s.now + longestDoze
	if s.queue.more() {
		h = min(h, s.queue.heap[0].at)
	}
	return h
}
