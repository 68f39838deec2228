package zksession

import "time"

// A Proof is what a client knows of the time from which the servers count the
// timeout of its session. A packet that a server has answered proves little: a
// server that is cut off from the others answers pings, reads and, if it was the
// leader, sync by itself for a while, and the session ends meanwhile. So:
//
//   - A packet touches the session at the server it comes to. A follower tells
//     its leader of the touches it has seen whenever the leader pings it.
//   - A write is committed by a majority. The follower passes it on to the leader
//     behind what it has told before, and the leader refuses it if the session is
//     over.
//
// A write that succeeds therefore proves that the leader of a majority knew of
// every touch that was lag older than the write; see
// docs/decisions/0009-zk-contact.md.
type Proof struct {
	// Since is the latest time from which the servers surely count, or later
	// ones: the session lives for SessionTimeout from then.
	Since time.Time

	// Committed is when the last write of this TCP connection that proves
	// something was answered, zero if there is none. To begin a session is one.
	Committed time.Time

	// Next is when a write will prove more than Since, zero if no packet has
	// been answered that could.
	Next time.Time

	// Unanswered is when the oldest write without an answer was sent, zero if all
	// have one.
	Unanswered time.Time
}

// A touch is a packet that the server of this connection has heard.
type touch struct {
	sent  time.Time
	ready time.Time // the leader knows of it when it gets a write that was sent then or later
}

// touches are those of one connection that are of use, oldest first.
type touches []touch

// add notes a touch. Of those that are close to each other the first will do.
func (ts touches) add(t touch, grain time.Duration) touches {
	if n := len(ts); n > 0 && t.sent.Sub(ts[n-1].sent) < grain {
		return ts
	}
	// What is ready now, but for the latest, is of no use for later writes.
	now := 0
	for i, u := range ts {
		if !u.ready.After(t.sent) {
			now = i
		}
	}
	return append(ts[now:], t)
}

// proves returns since when the session surely is touched, if a write that was
// sent then succeeds.
func (ts touches) proves(sent time.Time) (since time.Time) {
	for _, t := range ts {
		if !t.ready.After(sent) {
			since = t.sent
		}
	}
	return since
}

// next returns when a write proves more than since.
func (ts touches) next(since time.Time) time.Time {
	for _, t := range ts {
		if t.sent.After(since) {
			return t.ready
		}
	}
	return time.Time{}
}

// Requests that can set a watch.
const (
	opExists       = 3
	opGetData      = 4
	opGetChildren2 = 12
)

// Requests that only a majority grants.
const (
	opCreate          = 1
	opDelete          = 2
	opSetData         = 5
	opSetACL          = 7
	opMulti           = 14
	opCreate2         = 15
	opCreateContainer = 19
	opCreateTTL       = 21
)

func isWrite(op int32) bool {
	switch op {
	case opCreate, opDelete, opSetData, opSetACL, opMulti, opCreate2, opCreateContainer, opCreateTTL:
		return true
	}
	return false
}

// committed reports whether the reply with that head is to a write that was done.
// The head of the first result of a multi that has failed says type -1, and that of
// the reply says nothing.
func committed(op int32, head []byte) bool {
	const opError = -1
	err, ok := word(head, 3)
	if !isWrite(op) || !ok || err != 0 {
		return false
	}
	first, ok := word(head, 4)
	return op != opMulti || ok && first != opError
}

// Lag returns how much older than a write a touch has to be for the leader to
// know of it, and how far apart writes are to be that prove each other's touch. A
// leader pings each half tick; the rest is for what delays a ping.
func (z *Conn) Lag() time.Duration {
	timeout := z.SessionTimeout()
	return max(timeout/4, z.tick/2) + timeout/20
}

// Proof returns what is proven so far.
func (z *Conn) Proof() Proof {
	z.mu.Lock()
	p, now := Proof{Since: z.since}, z.now
	z.mu.Unlock()
	if now == nil {
		return p
	}
	now.mu.Lock()
	defer now.mu.Unlock()
	p.Committed, p.Next = now.committed, now.touches.next(p.Since)
	for _, s := range now.pending {
		if isWrite(s.op) && !s.held {
			p.Unanswered = s.at
			break
		}
	}
	return p
}

// Cut breaks the TCP connection. The library opens another one, to another server
// if it knows any, and takes up the session there.
func (z *Conn) Cut() {
	z.mu.Lock()
	now := z.now
	z.mu.Unlock()
	if now != nil {
		now.Close()
	}
}

// proven notes that the servers count from then, or later.
func (z *Conn) proven(since time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if since.After(z.since) {
		z.since = since
	}
}

// greeted takes up the reply to the handshake. The leader itself grants a
// session, by a write, or confirms it, which is a touch that needs no ping.
func (c *conn) greeted() {
	c.owner.mu.Lock()
	c.owner.shakes, c.owner.debt.began = handshakes{}, c.owner.time()
	c.owner.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touches = touches{{sent: c.greeting, ready: c.greeting}}
	if c.begins {
		c.owner.zxid.Store(0)
		c.committed = c.owner.time()
		c.owner.proven(c.greeting)
	}
}

// answered notes that the server has heard, and perhaps done, the oldest request
// with that xid, and reports whether that was SetWatches. Pings share one xid and are
// answered in order.
func (c *conn) answered(xid int32, head []byte) (watches bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.pending {
		if s.xid != xid {
			continue
		}
		c.pending = append(c.pending[:i], c.pending[i+1:]...)
		now := c.owner.time()
		if s.op != opAuth { // which the server does not count
			lag := c.owner.Lag()
			c.touches = c.touches.add(touch{sent: s.at, ready: now.Add(lag)}, lag/8)
		}
		if watches = s.op == opSetWatches || s.op == opSetWatches2; watches {
			c.owner.mu.Lock()
			c.owner.debt.answered(s.more)
			c.owner.mu.Unlock()
		}
		if xid >= 0 { // no ping, whose zxid the library would not take either
			c.created(s.path, head)
		}
		if committed(s.op, head) {
			c.committed = now
			c.owner.proven(s.proves)
		}
		return watches
	}
	return false
}
