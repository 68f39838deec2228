package redislock

import (
	"context"
	"sync"
	"time"
)

// unanswered counts a client's requests to a server of a [Redlock] without an answer in time.
// Meanwhile the server gets no more: a client that waited for it would withhold its votes from
// the others, and each request would occupy a connection.
type unanswered struct {
	mu   sync.Mutex
	n    int
	last error         // the latest error
	none chan struct{} // closed when the count returns to zero; nil while it is zero
}

func (u *unanswered) add(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n++; u.n == 1 {
		u.none = make(chan struct{})
	}
	u.last = err
}

func (u *unanswered) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n--; u.n == 0 {
		close(u.none)
		u.none = nil
	}
}

// state returns a channel that closes when the count is zero, nil if it is, and the last error.
func (u *unanswered) state() (none <-chan struct{}, last error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.none, u.last
}

// A pending is one attempt to set a key. It counts as unanswered from when its answer is
// late until the key is known to be absent.
type pending struct {
	u     *unanswered
	timer *time.Timer

	mu            sync.Mutex
	counted, over bool
}

func (u *unanswered) await(answer time.Duration) *pending {
	p := &pending{u: u}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(answer, func() { p.late(errNoAnswer) })
	return p
}

func (p *pending) late(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.counted && !p.over {
		p.counted = true
		p.u.add(err)
	}
}

func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	if p.over = true; p.counted {
		p.counted = false
		p.u.remove()
	}
}

// maxUndoPause bounds the delay after a server's return before it is asked again.
const maxUndoPause = 500 * time.Millisecond

// undo reverts an attempt that was sent then, by its own requests, until the lease is over.
func (k *keyLock) undo(ctx context.Context, nonce string, sent time.Time) {
	for pause := retryPause; ; pause = min(2*pause, maxUndoPause) {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
		_, err := k.free(short, nonce, byScript)
		cancel()
		if err == nil || k.c.final(err) || k.c.clock.Since(sent) > k.o.TTL || !k.c.pause(k.c.open, pause) {
			return
		}
	}
}
