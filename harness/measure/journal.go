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
	mark       kind = iota // a client begins or ends a step
	request                // from a client
	tripAnswer             // to a request
	notice                 // from a server, unasked
)

type callID struct{ client, server, conn, call int }

type event struct {
	kind kind
	id   callID // for a mark, the client alone
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

func newJournal() *tripJournal {
	return &tripJournal{open: make(map[callID]pending), silence: leastSilence}
}

// keepsUp lists the requests that set up, maintain and end connections.
var keepsUp = []string{"ping", "connect", "auth", "hello", "client", "select", "closeSession"}

func (j *tripJournal) see(client, server int, s faultproxy.Sighting) {
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

func (j *tripJournal) mark(client int) (at int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event{mark, callID{client: client}})
	return len(j.events) - 1
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

func (j *tripJournal) setSilence() {
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
