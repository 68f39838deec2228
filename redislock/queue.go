package redislock

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"locklab/lock"
)

// A Mutex is a lock with a queue in the server: a release hands it to the first waiter, in one
// script.
//
//  1. Acquire: if the lock is free and there are no waiters, take it with a whole lease.
//     Otherwise join the queue and listen to the own mailbox, a list. One blocking pop of the
//     process reads the mailboxes of all its waiters.
//  2. Release: make the first waiter the owner, with a new token and for the grant timeout,
//     and write that into its mailbox. For a waiter of the same process the reply carries the
//     notification.
//  3. A new owner that has not released the lock after five milliseconds asks for a whole
//     lease, as every owner does periodically.
//
// An uncontended acquisition takes two requests, and so does a handover within a process. An
// acquisition behind others takes three, one of them the blocking pop, whatever the number of
// waiters.
//
// # Failures
//
// The key of the lock is the truth, messages are hints. A message is valid only for the time
// that it grants. That time counts from before the waiter's own request was sent, by the
// server's times of the request and the grant. After no message, a late one, or an error, a
// waiter sends its request again, and the script recognizes the waiter.
//
// After the grant timeout of a handover, the process that handed over checks whether the new
// owner has the lock or has lost it, and then hands it on. A waiter asks again at the end of
// the owner's lease, later waiters a little later, and the first ones up to twenty times in a
// lease, in case the server has lost its data. So any number of deaths costs the next waiter
// at most the rest of one lease, and a grant timeout per process with dead waiters ahead.
// Renewals send waiters nothing.
//
// A waiter that gives up while the server does not answer leaves its place behind. The client
// removes it within two seconds after the server answers again, and gives the lock back if it
// was granted to that place. If a process leaves a message unread for the grant timeout, its waiters are
// skipped. If messages arrive later than that, the process polls instead: several times in
// each grant timeout for its first waiter.
//
// # References
//
// A list per waiter is used for reliable queues: Redis documentation, LMOVE, section "Pattern:
// Reliable queue". We know of no description of a lock like this one; locklab,
// docs/decisions/0008-redis-queue.md, explains why it is safe.

// A Mutex is a lock between all clients that use the same name on the same server, first come,
// first served. It can be locked again after any error. It is not reentrant.
type Mutex struct{ *queue }

// A queue is the part of a lock with a queue in the server that all kinds have.
type queue struct {
	base
	keys []string
	kind queueKind
}

type queueKind struct {
	acquire, seize, release, free, renew, check, pass, force *script

	holders *script // nil if the key of the lock names the holder

	needs string // the needs of take
	tag   string // suffix of the names of waiters
}

func (k queueKind) complete() queueKind {
	k.needs = needs(k.release, k.free, k.renew, k.check, k.pass)
	return k
}

var exclusive = queueKind{
	acquire: newScript("needs", "grant", "queue_acquire"),
	seize:   newScript("grant", "queue_seize"),
	release: newScript("grant", "queue_release"),
	free:    newScript("grant", "queue_free"),
	renew:   newScript("grant", "queue_renew"),
	check:   newScript("grant", "queue_check"),
	pass:    newScript("grant", "queue_pass"),
	force:   newScript("grant", "queue_force"),
}.complete()

var drawToken = newScript("grant", "queue_draw")

// Mutex returns the mutex with that name, its key in the server, such as "locks:reindex".
// Companion keys have that name in braces, or the name and a colon if it has braces itself.
// They end in ~queue, ~token and the like, and a name with such an end is refused. In a cluster
// a name with braces must have text in the first pair. A Mutex may be made for every call: all
// of one name share the Client's state.
func (c *Client) Mutex(name string, o Options) *Mutex { return &Mutex{c.queue(name, o)} }

func (c *Client) queue(name string, o Options) *queue {
	m := &queue{base: c.base(name, o), kind: exclusive}
	m.err = cmp.Or(m.err, c.misuse, c.together(name))
	m.keys = []string{name, companion(name, "queue"), companion(name, "token"), companion(name, "mail:")}
	return m
}

// Lock waits for the lock until ctx ends, in order of arrival; the error then wraps
// ErrNotAcquired and the error of ctx. While the server is unreachable or refuses temporarily
// (it loads its data, is busy, or is not the primary), Lock asks again, after up to a third of
// a second. Without a deadline in ctx it gives up after Options.Outage, with the last error.
//
// An uncontended Lock takes one request, and one more if the server does not have the script
// yet.
func (m *queue) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false, m) }

// TryLock takes the lock if it is free without waiters; else the error wraps ErrNotAcquired.
func (m *queue) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true, m) }

type queued struct {
	nonce        string
	box          *mailbox
	notification chan notification // the latest; has room for one
	trace        *Trace            // or nil
	until        time.Time         // when it asks again, whatever messages arrive
	listed       bool              // a key besides the lock's may have it
}

// soonest returns the earlier of the times to come: no early request may postpone the schedule.
func (c *Client) soonest(old, at time.Time) time.Time {
	if old.Before(at) && c.clock.Now().Before(old) {
		return old
	}
	return at
}

// acquire asks for the lock until ctx ends or the server fails. Only a lease leaves anything.
func (m *queue) acquire(ctx context.Context, try bool) (*Lease, error) {
	w := m.enter(lock.TraceOf(ctx))
	defer m.leave(w)
	a := attempts{base: &m.base, try: try, undo: func(ctx context.Context) (bool, error) { return m.withdraw(ctx, w) }}
	for {
		l, watch, ahead, err := m.ask(ctx, w, try)
		w.listed = w.listed || ahead >= 0 || err != nil && !refused(err)
		if splitSlot(err) {
			l, watch, err = m.seize(ctx, w)
		}
		switch {
		case l != nil:
			return l, nil
		case err != nil:
			var over bool
			if watch, over = a.failed(ctx, err); over {
				return a.giveUp(ctx, err)
			}
		case try:
			return nil, busy(m.name)
		default:
			if !a.doubt {
				w.trace.NotifyQueued(m.name, ahead)
			}
			a.doubt = true // a place in the queue is ours
			a.over()
			if err := w.box.listen(); err != nil {
				return a.giveUp(ctx, err)
			}
		}
		w.until = m.c.soonest(w.until, m.c.clock.Now().Add(w.patience(m.o.HandoffTimeout, watch, ahead)))
		l, err = m.wait(ctx, w)
		if l != nil {
			return l, nil
		}
		if over := a.ended(ctx, err, m.c.closedErr()); over != nil {
			return a.giveUp(ctx, over)
		}
	}
}

// ask sends the request of w. It returns a lease, or the wait and the number of waiters ahead, -1
// if it has no place in the queue.
func (m *queue) ask(ctx context.Context, w *queued, try bool) (l *Lease, watch time.Duration, ahead int, err error) {
	sent := m.c.clock.Now()
	reply, err := m.c.take(ctx, m.call(m.kind.acquire, w, m.o.TTL.Milliseconds(), m.o.HandoffTimeout.Milliseconds(), !try), m.kind.needs).Int64Slice()
	if err == nil && len(reply) != 4 {
		err = fmt.Errorf("redislock: the server's reply has %d values, want 4", len(reply))
	}
	if err != nil {
		return nil, 0, -1, err
	}
	token, span, ahead := uint64(reply[0]), millis(reply[1]), int(reply[3])
	w.box.heard(clock{sent, time.Duration(reply[2]) * time.Microsecond})
	switch {
	case token > 0:
	case try && span >= 0: // the lock was handed on
		m.watchOver()
		return nil, 0, ahead, nil
	case try:
		return nil, 0, ahead, nil
	default:
		return nil, m.asksAfter(span, ahead), ahead, nil
	}
	l, err = m.lease(w, token).granted(sent)
	return l, 0, 0, err
}

// seize takes a free lock for w without the queue, or returns when to try again. Each request
// names one key, so that it runs while the lock's slot migrates. The lease has its own name,
// which no place or older token has. The holder draws its token, so tokens rise.
func (m *queue) seize(ctx context.Context, w *queued) (l *Lease, watch time.Duration, err error) {
	alone, sent := m.enter(nil), m.c.clock.Now()
	defer m.leave(alone)
	n, err := m.c.ask(ctx, m.alone(m.kind.seize, alone, m.o.TTL.Milliseconds())).Int()
	if n == 1 {
		var token uint64
		if token, err = m.c.ask(ctx, call{drawToken, m.keys[2:3], nil}).Uint64(); err == nil {
			l, err = m.lease(alone, token).granted(sent)
		}
	}
	switch {
	case err != nil && (n == 1 || !refused(err)):
		m.withdrawSoon(alone)
	case l != nil && w.listed:
		m.withdrawSoon(w)
	}
	return l, retryMost/2 + rand.N(retryMost), err
}

// watchLate is how long after an owner's time waiters ask: Redis expires no key early.
const watchLate = 2 * time.Millisecond

// asksAfter returns when a waiter asks again, if the lock is taken for span, or below 0 without an end.
func (m *queue) asksAfter(span time.Duration, ahead int) time.Duration {
	after := min(m.o.again(), m.checkAfter(ahead)) // or its place might expire
	if span >= 0 {
		after = min(after, span+watchLate+m.stagger(ahead))
	}
	return after
}

// checkAfter returns the time after which a waiter verifies its place: a server may lose its data.
// The first waiter asks twenty times in a lease, at most once a second; later ones less often.
func (m *queue) checkAfter(ahead int) time.Duration {
	return min(max(m.o.TTL/20, time.Second), m.o.again()) * time.Duration(1+min(max(ahead, 0), farBehind))
}

// stagger returns how much later a waiter with that many ahead asks. The first live waiter is
// served, and the others then find the lock taken; together they take no longer than a grant.
func (m *queue) stagger(ahead int) time.Duration {
	const steps = 64
	if ahead >= steps {
		return rand.N(m.o.HandoffTimeout)
	}
	return m.o.HandoffTimeout / steps * time.Duration(max(ahead, 0))
}

// wait waits for a notification, or until w.until. It returns the lease of a grant that
// came in time, nil to ask again, or an error to give up.
func (m *queue) wait(ctx context.Context, w *queued) (*Lease, error) {
	timer := time.NewTimer(m.c.clock.Until(w.until))
	defer timer.Stop()
	for {
		select {
		case got := <-w.notification:
			switch {
			case got.err != nil:
				return nil, got.err
			case got.again:
				w.trace.NotifyWoken(m.name, lock.WakeDoubt)
				return nil, nil
			case got.token == 0:
				w.until = m.c.soonest(w.until, m.c.clock.Now().Add(got.span+watchLate))
				timer.Reset(m.c.clock.Until(w.until))
				continue
			}
			w.trace.NotifyWoken(m.name, lock.WakeGrant)
			if l := m.lease(w, got.token); l.begin(got.written, got.span) {
				return l, nil
			}
			return nil, nil // it came too late
		case <-timer.C:
			w.trace.NotifyWoken(m.name, lock.WakeTime)
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		case <-m.c.serving.Done():
			return nil, nil
		}
	}
}

func (m *queue) lease(w *queued, token uint64) *Lease {
	l := m.newLease(m.alone(m.kind.renew, w, m.o.TTL.Milliseconds(), m.keys[len(m.keys)-1]), func(ctx context.Context) (bool, error) { return m.release(ctx, w, true) })
	l.token, l.prompt = token, m.c.prompt
	return l
}

func (m *queue) call(s *script, w *queued, args ...any) call {
	return call{s, m.keys, append([]any{w.nonce}, args...)}
}

// alone is a call with only the key of the lock, so that it runs while the lock's slot migrates.
func (m *queue) alone(s *script, w *queued, args ...any) call {
	return call{s, m.keys[:1], append([]any{w.nonce}, args...)}
}

// release removes w from the queue, or takes the lock away from it, and reports whether it
// had the lock until then. owned means that we knew that it had the lock.
func (m *queue) release(ctx context.Context, w *queued, owned bool) (held bool, err error) {
	out := m.sends()
	defer out.end()
	err = m.c.persist(ctx, func(ctx context.Context, again bool) error { // again: an earlier request may have done it
		sent := m.c.clock.Now()
		n, notifications, err := answer(m.call(m.kind.release, w, m.o.HandoffTimeout.Milliseconds()).run(ctx, m.c.rdb))
		if splitSlot(err) || verdictOf(err) == foreign {
			n, err = m.free(ctx, w, owned, err)
		}
		// n < 0: the library may have repeated a request after a lost reply.
		doubt := err != nil && !refused(err) || n < 0 || n == 0 && (owned || again)
		if n >= 2 || doubt {
			m.watchOver() // a request with a lost reply may have handed it over
		}
		if doubt {
			out.box.wakeAll() // and the notification with it
		}
		for _, text := range notifications {
			out.box.deliver(text, sent)
		}
		held = err == nil && (n == 1 || n == 2)
		return err
	})
	return held, err
}

// withdraw takes w's place or the lock away, in the background if the server does not answer:
// the place would cost a grant timeout. It uses no new connection: if the library's are
// silent, the cost is as if this process had died.
func (m *queue) withdraw(ctx context.Context, w *queued) (held bool, err error) {
	return m.insist(ctx, placeStays, func(ctx context.Context) (bool, error) { return m.release(ctx, w, false) })
}

// free takes the lock away from w by a request with one key, and returns the answer to release.
// Other keys that may have w are cleared when the slot has moved: for an owner in the background,
// and else until then the answer is err.
func (m *queue) free(ctx context.Context, w *queued, owned bool, err error) (int, error) {
	n, failed := m.alone(m.kind.free, w).run(ctx, m.c.rdb).Int()
	switch {
	case failed != nil || !w.listed:
		return n, failed
	case n == 0 && !owned:
		return 0, err
	}
	m.withdrawSoon(w)
	return n, nil
}

func (m *queue) withdrawSoon(w *queued) {
	m.c.later(m.name, m.c.clock.Now().Add(placeStays), errUndoing, func(ctx context.Context) (bool, error) { return m.release(ctx, w, false) })
}

// placeStays is how long the server keeps a queue without requests.
const placeStays = 10 * time.Minute

// watchOver checks a handover after the grant timeout, unless a later one proves it.
func (m *queue) watchOver() {
	if !m.c.mail.guard(m) { // the client is closed
		m.pass()
	}
}

// check hands the lock on if its owner's time has run out. It uses no new connection: without
// it the waiters ask within a lease.
func (m *queue) check() {
	ctx, cancel := context.WithTimeout(m.c.open, unlockWait)
	defer cancel()
	// If the server does not answer, there is nothing to hand on.
	_ = m.c.persist(ctx, func(ctx context.Context, again bool) error {
		n, err := m.send(ctx, m.kind.check)
		if n == 2 || n == 0 && again {
			m.watchOver()
		}
		return err
	})
}

func (m *queue) send(ctx context.Context, s *script) (int, error) {
	return call{s, m.keys, []any{"", m.o.HandoffTimeout.Milliseconds()}}.run(ctx, m.c.rdb).Int()
}

// pass leaves the check of the latest handover to the first waiter, in one try: see check.
func (m *queue) pass() {
	ctx, cancel := context.WithTimeout(context.Background(), unlockWait)
	defer cancel()
	_, _ = m.send(ctx, m.kind.pass) // a failure is as if this process had died
}
