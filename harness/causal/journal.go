package causal

import (
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/internal/faultproxy"
)

// A kind is what an event is.
type kind int

const (
	mark    kind = iota // a client begins or ends a step
	request             // from a client
	answer              // to a request
	notice              // from a server, unasked
)

// A callID is a request.
type callID struct{ client, server, conn, call int }

// An event is a message that a proxy saw, or a mark.
type event struct {
	kind kind
	id   callID // of a mark, the client alone
}

// A pending request has no answer yet.
type pending struct {
	since time.Time
	waits bool // its server may answer when it likes
}

// waits lists the requests in which a client may wait for a lock. All others are answered
// at once.
var waits = []string{"blpop", "brpop", "blmove", "brpoplpush", "blmpop", "bzpopmin", "bzpopmax", "bzmpop", "xread", "xreadgroup", "wait"}

// A journal takes down events in their order. Its methods may be called by any
// goroutine.
type journal struct {
	mu     sync.Mutex
	events []event
	open   map[callID]pending // requests without an answer
	last   time.Time          // message

	took    []time.Duration // to answer each request
	silence time.Duration   // after which all has settled
}

func newJournal() *journal {
	return &journal{open: make(map[callID]pending), silence: leastSilence}
}

// keepsUp lists what connections need to be set up, to live and to end.
var keepsUp = []string{"ping", "connect", "auth", "hello", "client", "select", "closeSession"}

// see takes down a message of a client and a server.
func (j *journal) see(client, server int, s faultproxy.Sighting) {
	if slices.Contains(keepsUp, s.Op) {
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
		e.kind = answer
		if p, ok := j.open[e.id]; ok {
			j.took = append(j.took, s.At.Sub(p.since))
		}
		delete(j.open, e.id)
	default:
		e.kind = notice
	}
	j.events = append(j.events, e)
}

// mark takes down that a client begins or ends a step, and returns how many events come
// before.
func (j *journal) mark(client int) (at int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event{mark, callID{client: client}})
	return len(j.events) - 1
}

// now returns how many events there are.
func (j *journal) now() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.events)
}

// between returns the events from one number to another.
func (j *journal) between(from, to int) []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events[from:to])
}

// The least time for which all must be silent to have settled, and the most, of which the
// one is for a machine with nothing else to do and the other for a busy one.
const (
	leastSilence = 5 * time.Millisecond
	mostSilence  = 60 * time.Millisecond
)

// pace takes the time of an answer on this machine, as busy as it is, for what silence
// there is behind one.
func (j *journal) pace() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.took) > 0 {
		slices.Sort(j.took)
		j.silence = max(leastSilence, min(10*j.took[len(j.took)/2], mostSilence))
	}
}

// calm reports whether no message has come for a while and none is to come. Of a request in
// which a client may wait for the lock the answer is taken to be missing for that reason
// after several times as long.
func (j *journal) calm(now time.Time) bool {
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
