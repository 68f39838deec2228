package measure

// A stamp is the number of trips behind a message or a client's state.
type stamp struct {
	halves int  // one way
	caused bool // by the step under study; otherwise a client acted on its own
}

func (s stamp) after() stamp { return stamp{s.halves + 1, s.caused} }

// later returns the stamp caused by the step, and then the one with more trips.
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
	known  map[int]stamp    // by client: its received messages
	asked  map[callID]stamp // a request of this step, at the server
	latest map[int]stamp    // by server: its last request
	sent   map[int]stamp    // by client: its requests, at the server
}

// reckon follows the trips of a step that a client begins in silence. A client that sends
// without having received acts on its own. An answer to an earlier request is caused by the
// last request at its server, the holder's.
func reckon(events []event, begun int) *reckoning {
	r := &reckoning{known: map[int]stamp{begun: {0, true}}, asked: make(map[callID]stamp), latest: make(map[int]stamp), sent: make(map[int]stamp)}
	for _, e := range events {
		c := e.id.client
		switch e.kind {
		case request:
			s := r.known[c].after()
			r.asked[e.id], r.latest[e.id.server], r.sent[c] = s, s, r.sent[c].later(s)
		case tripAnswer, notice:
			s, own := r.asked[e.id]
			if e.kind == notice || !own {
				s = r.latest[e.id.server]
			}
			r.known[c] = r.known[c].later(s.after())
		}
	}
	return r
}

func requests(events []event) (n float64) {
	for _, e := range events {
		if e.kind == request {
			n++
		}
	}
	return n
}
