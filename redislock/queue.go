package redislock

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A Mutex is a lock with a queue in the server: a release hands it to the first
// waiter, in one script.
//
//  1. Acquire: if the lock is free and there are no waiters, take it with a whole lease.
//     Otherwise join the queue and listen to the own mailbox, a list that one
//     blocking pop of the process reads for all of its waiters.
//  2. Release: make the first waiter the owner, with a new token and for the
//     grant timeout, and write that into its mailbox. If it is of the same process
//     the notification goes with the reply instead.
//  3. An owner by hand-over that has not released the lock after five milliseconds asks
//     for a whole lease, as every owner does from time to time.
//
// Two requests alone, and for each hand-over from another waiter of the same
// process; three for each acquisition behind others, of which one is the blocking pop,
// whatever their number.
//
// # What watches
//
// The key of the lock is the truth, messages are hints. A message counts only
// while the time it grants lasts, reckoned from before the waiter's own request
// was sent by the times that the server took at the request and at the grant.
// A waiter that gets no message, or a late one, or an error, asks again: the same
// script, which knows its waiter.
//
// A process that hands the lock over checks, when the grant timeout is over, whether the new owner
// has it or has lost it, and in that case hands it on. Every waiter knows when the
// owner's lease ends, from its latest request, and asks again then: about once in each
// lease, those behind others a little later. The first ones ask up to twenty times in a lease,
// in case the server has lost its data. So any deaths at one time cost the
// next waiter what is left of one lease, and a grant timeout for each process with dead
// waiters ahead of it. Renewals tell the waiters nothing.
//
// A waiter that gives up while the server does not answer leaves its place behind. The
// client takes it out when the server answers again, and gives the lock back at once
// should it come to that waiter.
// Waiters of a process that has left a message unread for the grant timeout are
// skipped. A process whose messages come later than that asks on time instead: some
// times in each grant timeout for its first waiter.
//
// # References
//
// The idea of a list per waiter is in use for reliable queues: Redis
// documentation, LMOVE, section "Pattern: Reliable queue". No description of a
// lock like this one is known to us; locklab, docs/decisions/0008-redis-queue.md,
// says why it is safe.

// A Mutex is a lock between all clients that use the same name on the same
// server, first come, first served. It can be locked again after any error. It
// is not reentrant: a holder that locks it again waits for itself.
type Mutex struct {
	c    *Client
	name string
	keys []string
	kind queueKind
	o    Options
	err  error // what is wrong with name and o
}

// A queueKind is how the server keeps a queue and the holders of the lock.
type queueKind struct {
	acquire, release, free, renew, check, pass, force *script

	holders *script // nil if the key of the lock has the holder

	needs string // of take
	tag   string // ends the names of waiters
}

// complete returns k with what it needs.
func (k queueKind) complete() queueKind {
	k.needs = needs(k.release, k.free, k.renew, k.check, k.pass)
	return k
}

var exclusive = queueKind{
	acquire: newScript("needs", "grant", "queue_acquire"),
	release: newScript("grant", "queue_release"),
	free:    newScript("grant", "queue_free"),
	renew:   newScript("grant", "queue_renew"),
	check:   newScript("grant", "queue_check"),
	pass:    newScript("grant", "queue_pass"),
	force:   newScript("grant", "queue_force"),
}.complete()

// Mutex returns the mutex with that name: the key of the lock, such as
// "locks:reindex". Beside it there are keys whose names are that name in braces, or if
// it has braces itself that name and a colon, and then ~queue, ~token and the like. So
// no two names share a key, with braces or without; a name that ends like one of those
// keys is refused. (In a cluster a name that has braces must have something in the first
// of them.) It may be made for every call: all with one name share what the Client keeps
// for their waiters, and nothing is kept for a name five seconds after the last of them.
func (c *Client) Mutex(name string, o Options) *Mutex {
	m := &Mutex{c: c, name: name, kind: exclusive}
	if m.o, m.err = c.options(o, name); m.err == nil {
		m.err = cmp.Or(c.misuse, c.together(name))
	}
	m.keys = []string{name, companion(name, "queue"), companion(name, "token"), companion(name, "mail:")}
	return m
}

// Name returns the key of the lock.
func (m *Mutex) Name() string { return m.name }

// Lock waits for the lock until ctx ends, in order of arrival; the error then wraps
// ErrNotAcquired and that of ctx. While the server cannot
// be reached, or refuses for now, as when it loads its data, is busy with a script, or
// is not the primary, Lock asks again, after pauses of up to a third of a second: until
// ctx ends, or if that has no deadline for Options.Outage. Then it returns the last
// error.
//
// Alone it takes one request, and one more if the server does not have the
// script yet.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if it is free and has no waiters. The error wraps
// ErrNotAcquired otherwise.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *Mutex) lock(ctx context.Context, try bool) (*Lease, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.o.limited(m.c.await(ctx, m.name, m.o.bound(try), func(ctx context.Context) (*Lease, error) { return m.acquire(ctx, try) }))
}

// A queued is one Lock, from its first request to its last.
type queued struct {
	nonce        string
	box          *mailbox
	notification chan notification // the latest; has room for one
	trace        *Trace            // or nil
	until        time.Time         // when it asks again, whatever it hears
}

// soonest returns the first of those times that is still to come. A request that is sent
// early for another reason does not put off the one that was to be sent: the waiter may
// be the only one that asks then.
func (c *Client) soonest(old, at time.Time) time.Time {
	if old.Before(at) && c.clock.Now().Before(old) {
		return old
	}
	return at
}

// acquire asks for the lock until it has it, ctx ends, or the server fails. It
// leaves a place in the queue, or the lock, behind only with a lease.
func (m *Mutex) acquire(ctx context.Context, try bool) (*Lease, error) {
	w := m.enter(traceOf(ctx))
	defer m.leave(w)
	failed := new(outage)
	queued := false // there may be a place in the queue, or the lock, that is ours
	giveUp := func(err error) (*Lease, error) {
		undo := m.c.aside(failed, func(ctx context.Context) error { return m.withdraw(ctx, w) })
		if !queued {
			undo = nil
		}
		return nil, gaveUp(ctx, m.name, m.o, err, undo)
	}
	for {
		l, watch, ahead, err := m.ask(ctx, w, try)
		switch {
		case l != nil:
			return l, nil
		case err != nil:
			queued = queued || !refused(err)
			watch = failed.pause(err)
			if failed.hopeless(ctx, m.c, m.o, try) {
				return giveUp(err)
			}
		case try:
			return nil, busy(m.name)
		default:
			if !queued {
				w.trace.queued(m.name, ahead)
			}
			queued = true
			failed.over()
			if err := w.box.listen(); err != nil {
				return giveUp(err)
			}
		}
		w.until = m.c.soonest(w.until, m.c.clock.Now().Add(w.patience(m.o.HandoffTimeout, watch, ahead)))
		l, err = m.wait(ctx, w)
		if l != nil {
			return l, nil
		}
		if over := failed.ended(ctx, err, m.c.closedErr()); over != nil {
			return giveUp(over)
		}
	}
}

// ask sends the request of w and returns its lease, or how long to wait for a
// notification before it is sent again and how many waiters are ahead.
func (m *Mutex) ask(ctx context.Context, w *queued, try bool) (l *Lease, watch time.Duration, ahead int, err error) {
	sent := m.c.clock.Now()
	reply, err := m.c.take(ctx, m.call(m.kind.acquire, w, m.o.TTL.Milliseconds(), m.o.HandoffTimeout.Milliseconds(), !try), m.kind.needs).Int64Slice()
	if err == nil && len(reply) != 4 {
		err = fmt.Errorf("redislock: the server's reply has %d values, want 4", len(reply))
	}
	if err != nil {
		return nil, 0, 0, err
	}
	token, span, ahead := uint64(reply[0]), time.Duration(reply[1])*time.Millisecond, int(reply[3])
	w.box.heard(clock{sent, time.Duration(reply[2]) * time.Microsecond})
	switch {
	case token > 0:
	case try && span >= 0: // the lock was handed on
		m.watchOver()
		return nil, 0, 0, nil
	case try:
		return nil, 0, 0, nil
	case span < 0: // a key without an end
		return nil, min(m.o.again(), m.look(ahead)), ahead, nil
	default:
		return nil, min(span+watchLate+m.stagger(ahead), m.o.again(), m.look(ahead)), ahead, nil
	}
	l = m.lease(w, token)
	if !l.begin(sent, m.o.TTL) {
		return nil, 0, 0, fmt.Errorf("the answer took longer than the lease of %v", m.o.TTL)
	}
	return l, 0, 0, nil
}

// patience returns for how long to wait before a request that was to be sent in
// watch. Where notifications come too late to grant anything, requests have to find out:
// the lock stays with a new owner for the grant timeout, and a waiter that asks three times in
// that gets it by the reply. Those behind ask less often, so that many send little
// more than the first of it.
func (w *queued) patience(grant, watch time.Duration, ahead int) time.Duration {
	mail := &w.box.c.mail
	mail.Lock()
	defer mail.Unlock()
	if !w.box.late {
		return watch
	}
	return min(watch, grant/3*time.Duration(1+min(max(ahead, 0), farBehind)))
}

// farBehind is how many waiters ahead are as good as any number.
const farBehind = 1000

// watchLate is how long after the end of an owner's time waiters ask: Redis
// lets a key expire when its time is over, not before.
const watchLate = 2 * time.Millisecond

// look is after how long a waiter with so many ahead asks whether its place is still there,
// whatever it has heard: a server that has lost its data grants nothing. The first asks
// twenty times in a lease, once a second at most, and those behind less often, so that many
// send little more than the first few of them.
func (m *Mutex) look(ahead int) time.Duration {
	return max(m.o.TTL/20, time.Second) * time.Duration(1+min(max(ahead, 0), farBehind))
}

// stagger returns how much later than the first waiter one asks that has so many
// ahead. The first that lives is served, and the others find that; together they take
// no longer than a grant.
func (m *Mutex) stagger(ahead int) time.Duration {
	const steps = 64
	if ahead >= steps {
		return rand.N(m.o.HandoffTimeout)
	}
	return m.o.HandoffTimeout / steps * time.Duration(max(ahead, 0))
}

// wait waits for a notification, until it is time to ask. It returns the lease of one that
// grants the lock in time, or nil if it is to be asked again, or an error if there
// is no point in that.
func (m *Mutex) wait(ctx context.Context, w *queued) (*Lease, error) {
	timer := time.NewTimer(m.c.clock.Until(w.until))
	defer timer.Stop()
	for {
		select {
		case got := <-w.notification:
			switch {
			case got.err != nil:
				return nil, got.err
			case got.again:
				w.trace.woken(m.name, WakeDoubt)
				return nil, nil
			case got.token == 0:
				w.until = m.c.soonest(w.until, m.c.clock.Now().Add(got.span+watchLate))
				timer.Reset(m.c.clock.Until(w.until))
				continue
			}
			w.trace.woken(m.name, WakeGrant)
			if l := m.lease(w, got.token); l.begin(got.written, got.span) {
				return l, nil
			}
			return nil, nil // it came too late
		case <-timer.C:
			w.trace.woken(m.name, WakeTime)
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		case <-m.c.serving.Done():
			return nil, nil
		}
	}
}

func (m *Mutex) lease(w *queued, token uint64) *Lease {
	return &Lease{
		c: m.c, name: m.name, token: token, prompt: m.c.prompt,
		free:    func(ctx context.Context) (bool, error) { return m.release(ctx, w, true) },
		renewal: m.alone(m.kind.renew, w, m.o.TTL.Milliseconds()),
		again:   func(ctx context.Context) error { _, err := m.release(ctx, w, true); return err },
		span:    m.o.TTL, margin: m.o.Margin, fixed: m.o.DisableRenewal,
	}
}

func (m *Mutex) call(s *script, w *queued, args ...any) call {
	return call{s, m.keys, append([]any{w.nonce}, args...)}
}

// alone is a call that names the key of the lock and no other, so that it runs while the slot
// of the lock migrates.
func (m *Mutex) alone(s *script, w *queued, args ...any) call {
	return call{s, m.keys[:1], append([]any{w.nonce}, args...)}
}

// release takes w out of the queue, or the lock away from it, and reports
// whether it had the lock until then. owned is whether it had it for us.
func (m *Mutex) release(ctx context.Context, w *queued, owned bool) (held bool, err error) {
	out := m.sends()
	defer out.end()
	err = m.c.persist(ctx, func(ctx context.Context, again bool) error { // again: an earlier one may have done it
		sent := m.c.clock.Now()
		n, notifications, err := answer(m.call(m.kind.release, w, m.o.HandoffTimeout.Milliseconds()).run(ctx, m.c.rdb))
		if splitSlot(err) && m.free(ctx, w, again) {
			n, err = 1, nil
		}
		// n < 0: the library may have repeated a request whose reply was lost.
		doubt := err != nil && !refused(err) || n < 0 || n == 0 && (owned || again)
		if n >= 2 || doubt {
			m.watchOver() // it may have been handed over by a request whose reply was lost
		}
		if doubt {
			out.box.wakeAll() // and the notification with it
		}
		for _, text := range notifications {
			out.box.deliver(text, sent)
		}
		// Gone after a failure: the failed request has done it.
		held = err == nil && (n == 1 || n == 2 || again && m.c.inTime(ctx))
		return err
	})
	return held, err
}
