package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"locklab/harness"
)

// poll is the lock of the Redis documentation for one server: SET with NX and
// PX and a random value, deleted by a script that compares the value. Waiters
// ask again after a random pause.
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live. If
//     it carries the own nonce, a lost reply has hidden that; renew it.
//  2. Otherwise wait for half to one and a half poll intervals and go to 1.
//  3. Release: delete the key if it carries the own nonce.
//
// Two requests alone. Behind others the number of requests grows with the time
// of the wait, and the order of service is chance: the longer a waiter sleeps
// the more often others overtake it.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Correct
// Implementation with a Single Instance".
// Redis documentation, SET, section "Patterns".
var poll = &harness.Variant{
	Name:   "redis-poll",
	Doc:    "key with a nonce and a time to live, waiters poll in no order",
	Paper:  "Redis documentation, Distributed Locks",
	Family: harness.Redis,
	Status: harness.Reference,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: remote(func(c *Client, name string, o Options) locker {
		return c.PollMutex(name, PollOptions{Options: o})
	}),
}

// PollOptions is how a PollMutex behaves. The zero value is usable.
type PollOptions struct {
	Options

	// Pause returns how long to wait before attempt n, counted from 1, of one
	// Lock. nil is about 10 ms, spread evenly from 5 to 15: fifty waiters then ask
	// five thousand times a second, which one server answers with a tenth of its
	// capacity.
	Pause func(n int) time.Duration
}

// A PollMutex is a lock between all clients that use the same name on the same
// server, whose waiters ask again and again. It can be locked again after any
// error. It is not reentrant: a holder that locks it again waits for its own
// lease to end. [Mutex] is fairer, and faster as soon as there are waiters.
type PollMutex struct {
	c     *Client
	name  string
	o     Options
	pause func(n int) time.Duration
	err   error // what is wrong with name and o
}

var (
	pollAcquire = newScript("poll_acquire")
	pollRelease = newScript("poll_release")
	pollRenew   = newScript("poll_renew")
)

// PollMutex returns the mutex with that name: the key of the lock, such as
// "locks:reindex".
func (c *Client) PollMutex(name string, o PollOptions) *PollMutex {
	m := &PollMutex{c: c, name: name, pause: o.Pause}
	m.o, m.err = o.Options.withDefaults(name)
	if m.pause == nil {
		m.pause = jitter(10 * time.Millisecond)
	}
	return m
}

// jitter returns pauses from half to one and a half of mean, evenly spread.
func jitter(mean time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return mean/2 + mathrand.N(mean+1) }
}

// Name returns the key of the lock.
func (m *PollMutex) Name() string { return m.name }

// Lock waits for the lock until ctx ends. If the server cannot be reached
// three times in a row it returns the last error.
//
// It takes one request for each attempt, and one more if the server does not
// have the script yet.
func (m *PollMutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if it is free. The error wraps ErrNotAcquired if it
// is not.
func (m *PollMutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *PollMutex) lock(ctx context.Context, try bool) (*Lease, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.c.await(ctx, m.name, func() (*Lease, error) { return m.acquire(ctx, try) })
}

// acquire asks for the lock until it has it, ctx ends, or the server fails. It
// leaves a key behind only with a lease.
func (m *PollMutex) acquire(ctx context.Context, try bool) (*Lease, error) {
	nonce := rand.Text()
	free := func(ctx context.Context) (bool, error) { return m.release(ctx, nonce) }
	undo := func(ctx context.Context) error { _, err := free(ctx); return err }
	doubt := false // the key may be ours without our knowing
	giveUp := func(err error) (*Lease, error) {
		if !doubt {
			undo = nil
		}
		return nil, gaveUp(ctx, m.name, m.o, err, undo)
	}
	for attempt, failures := 1, 0; ; attempt++ {
		l := &Lease{c: m.c, name: m.name, free: free, renewal: m.call(pollRenew, nonce, m.o.Lease.Milliseconds()), span: m.o.Lease, fixed: m.o.Fixed}
		sent := time.Now()
		n, err := m.call(pollAcquire, nonce, m.o.Lease.Milliseconds()).run(ctx, m.c.rdb).Int()
		switch {
		case err == nil && n == 1 && l.begin(sent, m.o.Lease):
			return l, nil
		case err == nil && n == 0:
			doubt, failures = false, 0
			if try {
				return nil, ErrNotAcquired
			}
		default:
			if err == nil {
				err = fmt.Errorf("the answer took longer than the lease of %v", m.o.Lease)
			}
			doubt = doubt || !refused(err)
			if failures++; refused(err) || failures == maxFailures || ctx.Err() != nil {
				return giveUp(err)
			}
		}
		if !m.c.pause(ctx, m.pause(attempt)) {
			return giveUp(errors.Join(ctx.Err(), m.c.closedErr()))
		}
	}
}

func (m *PollMutex) call(script *script, args ...any) call {
	return call{script, []string{m.name}, args}
}

// release deletes the key if it carries the nonce and reports whether it was
// there until now.
func (m *PollMutex) release(ctx context.Context, nonce string) (held bool, err error) {
	err = m.c.persist(ctx, func(again bool) error {
		n, err := m.call(pollRelease, nonce).run(ctx, m.c.rdb).Int()
		// Gone after a failure: the failed request has done it.
		held = err == nil && (n == 1 || again)
		return err
	})
	return held, err
}
