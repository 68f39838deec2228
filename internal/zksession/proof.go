package zksession

import (
	"slices"
	"time"

	"locklab/internal/wire"
)

// A Proof is a client's lower bound for the time from which the servers count the timeout of its
// session. An answered packet proves little: a server that is cut off from the others answers
// pings, reads and, if it was the leader, sync for a while, and the session ends meanwhile. So:
//
//   - A packet touches the session at its server. A follower reports the touches to its leader
//     whenever the leader pings it.
//   - A write is committed by a majority. The follower forwards it to the leader after its
//     earlier reports, and the leader refuses it if the session is over.
//
// Therefore a successful write proves that the leader of a majority knew every touch that was
// lag older than the write; see docs/decisions/0009-zk-contact.md.
type Proof struct {
	// Since is the latest time from which the servers certainly count, or from a later one: the
	// session is alive for SessionTimeout from then.
	Since time.Time

	// Committed is when the last proving write of this TCP connection was answered, zero if none
	// was. The begin of a session counts as one.
	Committed time.Time

	// Next is the time from which a write proves more than Since, zero if none could.
	Next time.Time

	// Unanswered is when the oldest write without an answer was sent, zero if there is none.
	Unanswered time.Time
}

type touch struct {
	sent  time.Time
	ready time.Time // the leader knows it when it gets a write sent then or later
}

// touches are the useful touches of one connection, oldest first.
type touches []touch

// add records a touch. Of several close touches the first suffices.
func (ts touches) add(t touch, grain time.Duration) touches {
	if n := len(ts); n > 0 && t.sent.Sub(ts[n-1].sent) < grain {
		return ts
	}
	// Ready touches except the latest are useless for later writes.
	now := 0
	for i, u := range ts {
		if !u.ready.After(t.sent) {
			now = i
		}
	}
	return append(ts[now:], t)
}

// proves returns since when a write at that time, if it succeeds, proves the session.
func (ts touches) proves(sent time.Time) (since time.Time) {
	for _, t := range ts {
		if !t.ready.After(sent) {
			since = t.sent
		}
	}
	return since
}

// next returns the time from which a write proves more than since.
func (ts touches) next(since time.Time) time.Time {
	for _, t := range ts {
		if t.sent.After(since) {
			return t.ready
		}
	}
	return time.Time{}
}

// isWrite reports whether only a majority grants a request.
func isWrite(op int32) bool {
	switch op {
	case wire.OpCreate, wire.OpDelete, wire.OpSetData, wire.OpSetACL, wire.OpMulti, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return true
	}
	return false
}

// committed: in a failed multi the head of the first result has type -1, while the reply's head
// shows no error.
func committed(op int32, head []byte) bool {
	err, ok := word(head, 3)
	if !isWrite(op) || !ok || err != 0 {
		return false
	}
	first, ok := word(head, 4)
	return op != wire.OpMulti || ok && first != wire.OpError
}

// Lag returns how much older than a write a touch must be for the leader to know it, and the
// interval between writes that prove each other's touch. A leader pings every half tick; the
// rest covers delays of a ping.
func (z *Conn) Lag() time.Duration {
	timeout := z.SessionTimeout()
	return max(timeout/4, z.tick/2) + timeout/20
}

// Proof returns the proof until now.
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
	if i := slices.IndexFunc(now.pending, func(s sent) bool { return isWrite(s.op) && !s.held }); i >= 0 {
		p.Unanswered = now.pending[i].at
	}
	return p
}

// Cut breaks the TCP connection. The library opens another one and resumes the session there.
func (z *Conn) Cut() {
	if now := z.Link().c; now != nil {
		now.Close()
	}
}

func (z *Conn) proven(since time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if since.After(z.since) {
		z.since = since
	}
}

// greeted records the reply to the handshake. The leader itself grants a session, by a write, or
// confirms it, which is a touch without a ping.
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

// answered records that the server has received the oldest request with that xid, and reports
// whether it was SetWatches. Pings share one xid and are answered in order.
func (c *conn) answered(xid int32, head []byte) (watches bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.pending, func(s sent) bool { return s.xid == xid })
	if i < 0 {
		return false
	}
	s, now := c.pending[i], c.owner.time()
	c.pending = slices.Delete(c.pending, i, i+1)
	if s.op != wire.OpAuth { // the server does not count it
		lag := c.owner.Lag()
		c.touches = c.touches.add(touch{sent: s.at, ready: now.Add(lag)}, lag/8)
	}
	if watches = s.op == wire.OpSetWatches || s.op == wire.OpSetWatches2; watches {
		c.owner.mu.Lock()
		c.owner.debt.answered(s.more)
		c.owner.mu.Unlock()
	}
	if xid >= 0 { // not a ping, whose zxid the library ignores too
		c.created(s.path, head)
	}
	if committed(s.op, head) {
		c.committed = now
		c.owner.proven(s.proves)
	}
	return watches
}
