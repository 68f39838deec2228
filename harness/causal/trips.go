package causal

// A stamp is how many trips lie behind something.
type stamp struct {
	halves int  // one way
	caused bool // by the step that is looked at; otherwise by a client of its own accord
}

// after returns what lies behind a message that s lies behind, when it has arrived.
func (s stamp) after() stamp { return stamp{s.halves + 1, s.caused} }

// later returns the one of s and t that more is known by: what the step has caused
// before what it has not, and then the one with more trips.
func (s stamp) later(t stamp) stamp {
	if s.caused != t.caused {
		if t.caused {
			return t
		}
		return s
	}
	return stamp{max(s.halves, t.halves), s.caused}
}

// A reckoning follows the trips through the events of one step.
type reckoning struct {
	known  map[int]stamp    // by client: what it has seen
	asked  map[callID]stamp // of a request of this step, at the server
	latest map[int]stamp    // by server: of the request that came last
	sent   map[int]stamp    // by client: of its requests, at the server
}

// reckon follows the trips of a step that a client begins. Everything was silent before
// it, so a client that sends something without having received anything does so of its
// own accord, and an answer to a request from before was given because of the last
// request that its server had: that of the holder, for which the client waited.
func reckon(events []event, begun int) *reckoning {
	r := &reckoning{known: map[int]stamp{begun: {0, true}}, asked: make(map[callID]stamp), latest: make(map[int]stamp), sent: make(map[int]stamp)}
	for _, e := range events {
		c := e.id.client
		switch e.kind {
		case request:
			s := r.known[c].after()
			r.asked[e.id], r.latest[e.id.server], r.sent[c] = s, s, r.sent[c].later(s)
		case answer, notice:
			s, own := r.asked[e.id]
			if e.kind == notice || !own {
				s = r.latest[e.id.server]
			}
			r.known[c] = r.known[c].later(s.after())
		}
	}
	return r
}

// requests counts those among events.
func requests(events []event) (n float64) {
	for _, e := range events {
		if e.kind == request {
			n++
		}
	}
	return n
}
