package redislock_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spans of the fuzzed scripts. Nothing expires during a test except by its input.
const (
	fuzzedLease = 5 * time.Minute
	fuzzedGrant = 100 * time.Second
	fuzzedSlack = 20 * time.Millisecond // servers count milliseconds
)

type window struct{ from, to time.Time }

func (w window) add(d time.Duration) window { return window{w.from.Add(d), w.to.Add(d)} }

func (w window) max(v window) window {
	if w.from.Before(v.from) {
		w.from = v.from
	}
	if w.to.Before(v.to) {
		w.to = v.to
	}
	return w
}

func (w window) meets(v window) bool {
	return !w.from.After(v.to.Add(fuzzedSlack)) && !v.from.After(w.to.Add(fuzzedSlack))
}

type holding struct {
	whole bool
	ends  window
}

// A queueModel models a queue's scripts. A waiter is mailbox:number, or mailbox:number:limit.
type queueModel struct {
	several bool
	holders map[string]holding
	lapsed  map[string]bool // expired holders that are still in the set
	freed   map[string]bool // holders that have left without their tokens
	life    window          // until when the set of holders lives
	queue   []string
	waits   window // until when the queue lives

	sent  window          // when the latest request ran
	here  string          // the sender's mailbox, if the reply has notifications
	stale map[string]bool // full mailboxes; true if nobody reads them
	given []string        // waiters that the latest request granted the lock
	tells bool            // the first waiter gets the end of the lease
}

func boxOf(w string) string {
	box, _, _ := strings.Cut(w, ":")
	return box
}

func (m *queueModel) limit(w string) int {
	if parts := strings.Split(w, ":"); m.several {
		n, _ := strconv.Atoi(parts[2])
		return n
	}
	return 1
}

func (m *queueModel) fits(w string) bool {
	for h := range m.holders {
		return len(m.holders) < min(m.limit(w), m.limit(h))
	}
	return true
}

func (m *queueModel) holds(w string) bool { _, yes := m.holders[w]; return yes }

func (m *queueModel) hold(w string, span time.Duration) {
	ends := m.sent.add(span)
	if len(m.holders)+len(m.lapsed) == 0 || !m.several {
		m.life = window{}
	}
	m.holders[w], m.life = holding{span == fuzzedLease, ends}, m.life.max(ends)
	delete(m.freed, w)
}

// serve admits waiters, and reports whether any but self were admitted.
func (m *queueModel) serve(self string) bool {
	for len(m.queue) > 0 && m.fits(m.queue[0]) {
		w := m.queue[0]
		m.queue = m.queue[1:]
		switch box := boxOf(w); {
		case w == self:
			m.hold(w, fuzzedLease)
		case !m.stale[box] || box == m.here:
			m.hold(w, fuzzedGrant)
			m.given = append(m.given, w)
		}
	}
	return len(m.given) > 0
}

func (m *queueModel) reap() {
	clear(m.lapsed)
	if len(m.holders) == 0 {
		clear(m.freed)
	}
}

func (m *queueModel) seize(w string) int {
	for w := range m.lapsed {
		m.freed[w] = true
	}
	clear(m.lapsed)
	if !m.holds(w) && !m.fits(w) {
		return 0
	}
	m.hold(w, fuzzedLease)
	return 1
}

func (m *queueModel) acquire(w string, try bool) (ahead int) {
	m.reap()
	if m.holds(w) {
		m.hold(w, fuzzedLease)
		return 0
	}
	m.serve(w)
	if !m.holds(w) && len(m.queue) == 0 && m.fits(w) {
		m.hold(w, fuzzedLease)
	}
	if m.holds(w) {
		return 0
	}
	if !try {
		m.waits = m.sent.add(10 * time.Minute)
		if !slices.Contains(m.queue, w) {
			m.queue = append(m.queue, w)
		}
	}
	return slices.Index(m.queue, w)
}

// asks returns when a waiter at that place should ask again, and false if it gets no time.
func (m *queueModel) asks(ahead int, try bool) (window, bool) {
	first := window{}
	for i, h := range slices.SortedFunc(maps.Values(m.holders), func(a, b holding) int { return a.ends.from.Compare(b.ends.from) }) {
		at := h.ends
		if len(m.given) == 0 && ahead > 0 && !h.whole {
			at = at.max(m.sent.add(fuzzedLease - fuzzedGrant))
		}
		if i == 0 || at.from.Before(first.from) {
			first = at
		}
		if at == h.ends {
			break
		}
	}
	return first, !try || len(m.given) > 0
}

func (m *queueModel) release(w string) int {
	m.reap()
	held, place := m.holds(w), slices.Index(m.queue, w)
	delete(m.holders, w)
	delete(m.freed, w)
	if place >= 0 {
		m.queue = slices.Delete(m.queue, place, place+1)
	}
	others := m.serve("")
	switch {
	case held && others:
		return 2
	case held:
		return 1
	case place < 0:
		return -1
	case others:
		return 3
	}
	return 0
}

// keep models renew and free, of a single holder.
func (m *queueModel) keep(op, w string) int {
	switch {
	case !m.holds(w):
		return 0
	case op == "renew":
		m.hold(w, fuzzedLease)
	default:
		delete(m.holders, w)
		m.freed[w] = m.several
	}
	return 1
}

// sweep models the scripts that belong to no waiter.
func (m *queueModel) sweep(op string) int {
	held := len(m.holders)+len(m.lapsed) > 0
	if op == "force" {
		clear(m.holders)
	}
	m.reap()
	m.tells = op == "pass"
	others := m.serve("")
	switch {
	case op == "pass":
		return 1
	case others:
		return 2
	case op == "force" && held, op == "check" && len(m.holders) == 0:
		return 1
	}
	return 0
}

// expire ends the time of w, or of another holder if w holds nothing.
func (m *queueModel) expire(w string) string {
	if !m.holds(w) {
		w = ""
		for h := range m.holders {
			w = max(w, h)
		}
	}
	delete(m.holders, w)
	if w != "" && m.several {
		m.lapsed[w] = true
	}
	return w
}
