package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"locklab/lock"
)

// A Redlock is a [PollMutex] on several independent servers. A client holds the lock if it
// has the key on a majority, so the lock tolerates the loss of the other servers.
//
//  1. Acquire: ask all servers at once, with a new nonce, to set the key if it is absent. A
//     server that does not answer within a fraction of the lease counts as a refusal, and is
//     skipped until it answers again. A client that waited for it would withhold its other keys
//     from a possible majority.
//  2. With the key on a majority, the lock is held until fewer than a majority of keys are
//     certain; then the others are given back. Each key counts from before its request was
//     sent, less clock drift.
//  3. Otherwise, as soon as the vote is lost, give the keys back, wait for a random time that
//     grows with the duration of the attempt, and go to 1.
//  4. Release: delete the key on all servers if it has the nonce.
//
// Each key is renewed separately, and late keys are kept, so a server may fail while the lock is
// held. Acquire and release each take one request per server and the round trip of the fastest
// majority. With many contenders votes split and all restart; the order of service is random.
//
// # Guarantees
//
// It has no fencing token, because no server counts all holders. A holder that is paused past
// its lease, or whose request is delayed by the network, does its damage unnoticed. It also
// depends on clocks: two hold the lock if most servers' clocks jump, or if a server restarts
// without its data before a lease has passed. See Kleppmann, "How to do distributed locking",
// 2016, and the reply, Sanfilippo, "Is Redlock safe?", 2016. For correctness use a lock on a
// consensus service, such as package zklock; for efficiency one server suffices.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "The Redlock
// Algorithm".

// RedlockOptions configures a Redlock. A nil Pause adds up to twice an attempt's duration.
type RedlockOptions struct {
	PollOptions

	// Answer is how long a server may take before it is skipped until it answers, well below
	// the lease. 0 is a tenth of the lease, at most DefaultAnswer.
	Answer time.Duration
}

var errNoAnswer = errors.New("redislock: the server has not answered in time")

// DefaultAnswer is long for a live server, and a dead one delays its users little.
const DefaultAnswer = 200 * time.Millisecond

// A Redlock is a lock between all clients that use the same name on the same independent
// servers. It can be locked again after any error. It is not reentrant, and has no fencing
// token.
type Redlock struct {
	base              // of the first server's key
	keys   []*keyLock // one on each server
	answer time.Duration
	pause  func(n int) time.Duration // nil for one that depends on the attempt's duration
}

// NewRedlock returns the lock with that name on these clients' servers, one for each: three or
// five masters without replication, the same for all users. The caller closes the clients. A
// lease lasts while clients of a majority are open, and Unlock releases their keys.
func NewRedlock(clients []*Client, name string, o RedlockOptions) *Redlock {
	m := &Redlock{base: base{name: name}, pause: o.Pause}
	if len(clients) == 0 {
		m.err = fmt.Errorf("%w: a Redlock without servers", ErrUsage)
		return m
	}
	for i, c := range clients {
		if c == nil || slices.Contains(clients[:i], c) {
			m.err = fmt.Errorf("%w: a Redlock with a client that is nil or has two votes", ErrUsage)
			return m
		}
		k := newKeyLock(c, name, o.Options)
		m.keys, m.err = append(m.keys, k), cmp.Or(m.err, k.err)
	}
	m.c, m.o = m.keys[0].c, m.keys[0].o
	lease := m.o.TTL
	m.answer = cmp.Or(o.Answer, min(lease/10, DefaultAnswer))
	if m.err == nil && (m.answer <= 0 || m.answer >= lease) {
		m.err = fmt.Errorf("%w: %v for a server to answer: want more than 0 and less than the lease of %v", ErrUsage, m.answer, lease)
	}
	return m
}

// Lock waits for the lock until ctx ends. While a majority of the servers is unreachable or
// refuses temporarily, it asks again, see [Mutex.Lock].
func (m *Redlock) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false, m) }

// TryLock makes one attempt. The error wraps ErrNotAcquired if others hold so many keys
// that no majority is left, even if none of them has the lock.
func (m *Redlock) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true, m) }

func (m *Redlock) acquire(ctx context.Context, try bool) (*Lease, error) {
	var permanent bool // the error of the latest vote
	a := attempts{base: &m.base, try: try, final: func(error) bool { return permanent }}
	return a.run(ctx, func() (l *Lease, took time.Duration, err error) {
		began := time.Now()
		l, permanent, err = m.vote(ctx)
		return l, time.Since(began), err
	}, func(ctx context.Context, n int, took time.Duration) (lock.Wake, error) {
		return lock.WakeTime, m.c.rest(ctx, m.wait(n, took))
	})
}

// wait returns the pause before attempt n+1, which grows with the last attempt's duration.
func (m *Redlock) wait(n int, took time.Duration) time.Duration {
	if m.pause != nil {
		return m.pause(n)
	}
	return leastPause + rand.N(mostPause-leastPause+2*took)
}

type ballot struct {
	l     *Lease
	err   error
	final bool // err is permanent
}

// vote asks all servers once, with one nonce. It returns a lease of a majority, or an error if
// errors prevent one, final if permanently. It gives unneeded keys back in the background.
func (m *Redlock) vote(ctx context.Context) (l *Lease, final bool, err error) {
	n := len(m.keys)
	j := newJoint(m.c, m.name, n/2+1)
	j.all.free = m.scatter(j)
	ballots, nonce := make(chan ballot, n), m.c.identity()
	needed := m.answering() < j.need
	for _, k := range m.keys {
		if !k.c.admit(func() { ballots <- m.ask(ctx, k, nonce, needed) }) {
			ballots <- ballot{err: ErrClosed, final: true}
		}
	}
	patience := m.answer + retryPause
	if needed { // an attempt may first wait for a silent server
		patience += m.answer
	}
	wait, stop := context.WithTimeout(ctx, patience) // for client libraries that ignore contexts
	defer stop()
	granted, failed, lasting, pending := 0, 0, 0, n
	var errs []error
	for open := true; open && granted < j.need && granted+pending >= j.need; {
		select {
		case b := <-ballots:
			switch pending--; {
			case b.l != nil:
				granted++
				j.add(b.l)
			case b.err != nil:
				failed++
				errs = append(errs, b.err)
				if b.final {
					lasting++
				}
			}
		case <-wait.Done():
			failed += pending
			errs = append(errs, cmp.Or(ctx.Err(), fmt.Errorf("no answer of %d servers for %v", pending, m.answer)))
			open = false
		}
	}
	defer m.c.work.Go(func() { m.collect(j, ballots, pending) })
	if granted >= j.need {
		l = j.begin()
		context.AfterFunc(l.alive, func() { l.task(func() { _ = l.revoke(nil) }) }) // gives the rest of a lost lease back
		return l, false, nil
	}
	for _, l := range j.dissolve() {
		m.giveBack(ctx, l)
	}
	if failed > n-j.need {
		return nil, lasting > n-j.need, fmt.Errorf("too few of %d servers answer: %w", n, errors.Join(errs...))
	}
	return nil, false, nil
}

// ask asks one server, even if ctx ends: a late key is kept. An attempt with an unknown
// outcome is undone before the next, in the time for an answer if the majority needs it.
func (m *Redlock) ask(ctx context.Context, k *keyLock, nonce string, needed bool) ballot {
	u := &k.c.unanswered
	if none, why := u.state(); none != nil {
		if !needed || !m.back(ctx, k.c, none) {
			return ballot{err: why, final: k.c.final(why)}
		}
	}
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.answer)
	defer cancel()
	sent, late := k.c.clock.Now(), time.AfterFunc(m.answer, func() { u.add(1, errNoAnswer) })
	l, _, err := k.attempt(short, nonce)
	counted := !late.Stop()
	if err == nil || refused(err) {
		if counted {
			u.add(-1, nil)
		}
		return ballot{l, err, err != nil && k.c.final(err)}
	}
	if !counted {
		u.add(1, err)
	}
	if !k.c.task(func() { defer u.add(-1, nil); k.undo(ctx, nonce, sent) }) {
		u.add(-1, nil)
		k.c.owe(k.name, err)
	}
	return ballot{err: err, final: k.c.final(err)}
}

func (m *Redlock) back(ctx context.Context, c *Client, none <-chan struct{}) bool {
	select {
	case <-none:
		return true
	case <-time.After(m.answer):
	case <-ctx.Done():
	case <-c.serving.Done():
	}
	return false
}

func (m *Redlock) answering() (n int) {
	for _, k := range m.keys {
		if none, _ := k.c.unanswered.state(); none == nil {
			n++
		}
	}
	return n
}

func (m *Redlock) collect(j *joint, ballots <-chan ballot, n int) {
	for range n {
		if b := <-ballots; b.l != nil && !j.add(b.l) {
			m.giveBack(context.Background(), b.l)
		}
	}
}

func (m *Redlock) giveBack(ctx context.Context, l *Lease) {
	l.c.task(func() { _ = l.discard(ctx) }) // a failed release ends with its lease
}

// scatter returns the release of all parts at once, until enough servers have answered.
func (m *Redlock) scatter(j *joint) func(context.Context) (bool, error) {
	return func(ctx context.Context) (held bool, err error) {
		parts := j.dissolve()
		answers := make(chan error, len(parts))
		for _, l := range parts {
			if !l.c.task(func() { answers <- l.discard(context.WithoutCancel(ctx)) }) {
				answers <- ErrClosed
			}
		}
		var errs []error
		for freed := 0; freed < j.need; {
			if err := <-answers; err == nil {
				freed++
			} else if errs = append(errs, err); len(parts)-len(errs) < j.need {
				return false, errors.Join(errs...)
			}
		}
		return true, nil
	}
}

// unanswered counts a client's requests to a server of a [Redlock] without an answer in time.
// Meanwhile the server gets no more: a client that waited for it would withhold its votes from
// the others, and each request would occupy a connection.
type unanswered struct {
	mu   sync.Mutex
	n    int
	last error
	none chan struct{} // closed when the count returns to zero; nil while it is zero
}

// state returns a channel that closes when the count is zero, nil if it is, and the last error.
func (u *unanswered) state() (none <-chan struct{}, last error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.none, u.last
}

// add counts n more attempts to set a key, from when the answer is late until the key is known to
// be absent. The two may come in either order.
func (u *unanswered) add(n int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n += n
	switch {
	case u.n > 0 && u.none == nil:
		u.none = make(chan struct{})
	case u.n <= 0 && u.none != nil:
		close(u.none)
		u.none = nil
	}
	if n > 0 {
		u.last = err
	}
}

// maxUndoPause bounds the delay after a server's return before it is asked again.
const maxUndoPause = 500 * time.Millisecond

// undo reverts an attempt that was sent then, by its own requests, until the lease is over.
func (k *keyLock) undo(ctx context.Context, nonce string, sent time.Time) {
	d, _ := k.c.owe(k.name, errUndoing)
	for pause := retryPause; k.c.pause(k.c.open, pause); pause = min(2*pause, maxUndoPause) {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
		_, err := k.free(short, nonce)
		cancel()
		if err == nil || k.c.final(err) || k.c.clock.Since(sent) > k.o.TTL {
			k.c.pay(d, nil)
			return
		}
	}
}
