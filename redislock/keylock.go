package redislock

import (
	"context"
	"locklab/lock"
	"time"
)

// A keyLock is one key with a time to live, with the owner's nonce. It records no waiters.
type keyLock struct {
	base

	// ask takes the lock. Its answer is 1, or n <= 0 if another holder's key expires in -n
	// milliseconds, 0 if unknown.
	ask   *script
	needs string // the needs of take

	// free deletes the key if it has the nonce and reports whether it did.
	free func(ctx context.Context, nonce string) (held bool, err error)

	// strategy returns how one Lock waits, and a function to call at its end.
	strategy func() (wait waitFunc, end func(served bool))
}

// A waitFunc waits before attempt n+1 of one Lock and returns the reason for that attempt.
// The lock is free in at most left (0: unknown; a Redlock has its attempt's duration). The error is the reason to give up: ctx or
// the client has ended, or waiting is pointless.
type waitFunc func(ctx context.Context, n int, left time.Duration) (lock.Wake, error)

var (
	pollAcquire = newScript("needs", "poll_acquire")
	pollRelease = newScript("poll_release")
	pollRenew   = newScript("poll_renew")
	pollNeeds   = needs(pollRelease, pollRenew)
)

func newKeyLock(c *Client, name string, o Options) *keyLock {
	k := &keyLock{base: c.base(name, o), ask: pollAcquire, needs: pollNeeds}
	k.free = func(ctx context.Context, nonce string) (bool, error) { return k.release(ctx, pollRelease, nonce) }
	return k
}

// Lock waits for the lock until ctx ends.
//
// It takes one request for each attempt, and one more if the server does not have the script
// yet.
func (k *keyLock) Lock(ctx context.Context) (*Lease, error) { return k.lock(ctx, false, k) }

// TryLock takes the lock if it is free. Otherwise the error wraps ErrNotAcquired.
func (k *keyLock) TryLock(ctx context.Context) (*Lease, error) { return k.lock(ctx, true, k) }

func (k *keyLock) acquire(ctx context.Context, try bool) (*Lease, error) {
	nonce := k.c.identity()
	a := attempts{base: &k.base, try: try, undo: func(ctx context.Context) error { return k.withdraw(ctx, nonce) }}
	wait, end := k.strategy()
	l, err := a.run(ctx, func() (*Lease, time.Duration, error) { return k.attempt(ctx, nonce) }, wait)
	end(l != nil)
	return l, err
}

// attempt sends one request. It returns a lease, or the rest of another's, 0 if unknown.
func (k *keyLock) attempt(ctx context.Context, nonce string) (l *Lease, left time.Duration, err error) {
	lease := k.o.TTL.Milliseconds()
	sent := k.c.clock.Now()
	n, err := k.c.take(ctx, k.call(k.ask, nonce, lease), k.needs).Int()
	if err != nil || n <= 0 {
		return nil, time.Duration(-n) * time.Millisecond, err
	}
	l = k.newLease(k.call(pollRenew, nonce, lease), func(ctx context.Context) (bool, error) { return k.free(ctx, nonce) })
	l.prompt = k.c.prompt
	l, err = l.granted(sent)
	return l, 0, err
}

func (k *keyLock) call(s *script, args ...any) call { return call{s, []string{k.name}, args} }

// withdraw deletes the key if it has the nonce, in the background if there is no answer.
func (k *keyLock) withdraw(ctx context.Context, nonce string) error {
	again := func(ctx context.Context) error { _, err := k.free(ctx, nonce); return err }
	return k.insist(ctx, k.o.TTL, again)
}

// release deletes the key if it has the nonce, by a script, and reports whether it had.
func (k *keyLock) release(ctx context.Context, s *script, nonce string, args ...any) (held bool, err error) {
	err = k.c.persist(ctx, func(ctx context.Context, again bool) error {
		n, err := k.call(s, append([]any{nonce}, args...)...).run(ctx, k.c.rdb).Int()
		// If the key is gone after a failure, the failed request has deleted it.
		held = err == nil && (n == 1 || again && k.c.inTime(ctx))
		return err
	})
	return held, err
}
