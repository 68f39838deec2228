package measure

import (
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/internal/faultproxy"
)

type kind int

const (
	request    kind = iota // from a client
	tripAnswer             // to a request
	notice                 // from a server, unasked
)

type callID struct{ client, server, conn, call int }

type event struct {
	kind kind
	id   callID
}

type pending struct {
	since time.Time
	waits bool // its server may answer later
}

// waits lists the requests that wait for a lock. All others are answered at once.
var waits = []string{"blpop", "brpop", "blmove", "brpoplpush", "blmpop", "bzpopmin", "bzpopmax", "bzmpop", "xread", "xreadgroup", "wait"}

// A tripJournal records events in order. Its methods are safe for concurrent use.
type tripJournal struct {
	mu     sync.Mutex
	events []event
	open   map[callID]pending // requests without an answer
	last   time.Time          // message

	took    []time.Duration // time to answer each request
	silence time.Duration   // silence after which all has settled
}

func (j *tripJournal) see(client, server int, s faultproxy.Sighting) {
	if s.MaintainsConnection() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = s.At
	e := event{request, callID{client, server, s.Conn, s.Call}}
	switch {
	case s.Dir == faultproxy.Request:
		j.open[e.id] = pending{s.At, slices.Contains(waits, strings.ToLower(s.Op))}
	case s.Call > 0:
		e.kind = tripAnswer
		if p, ok := j.open[e.id]; ok {
			j.took = append(j.took, s.At.Sub(p.since))
		}
		delete(j.open, e.id)
	default:
		e.kind = notice
	}
	j.events = append(j.events, e)
}

func (j *tripJournal) now() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events)
}

func (j *tripJournal) between(from, to int) []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events[from:to])
}

// The silence after which all has settled, on an idle and on a busy machine.
const (
	leastSilence = 5 * time.Millisecond
	mostSilence  = 60 * time.Millisecond
)

func (j *tripJournal) adaptSilence() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.took) > 0 {
		slices.Sort(j.took)
		j.silence = max(leastSilence, min(10*j.took[len(j.took)/2], mostSilence))
	}
}

// calm reports whether no message has come for a while and none will come. If a request may
// wait for the lock, its missing answer is attributed to that after several times as long.
func (j *tripJournal) calm(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now.Sub(j.last) < j.silence {
		return false
	}
	for _, p := range j.open {
		if !p.waits || now.Sub(p.since) < 3*j.silence {
			return false
		}
	}
	return true
}

// A stamp is the number of trips behind a message or a client's state.
type stamp struct {
	halves int  // one way
	caused bool // by the step under study; otherwise a client acted on its own
}

func (s stamp) after() stamp { return stamp{s.halves + 1, s.caused} }

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
