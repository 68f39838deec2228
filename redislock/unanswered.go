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

// state returns a channel that closes when the count is zero, nil if it is, and the last error.
func (u *unanswered) state() (none <-chan struct{}, last error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.none, u.last
}

// A pending is one attempt to set a key. It counts as unanswered from when its answer is
// late until the key is known to be absent. u.mu guards it.
type pending struct {
	u             *unanswered
	timer         *time.Timer
	counted, over bool
}

func (u *unanswered) await(answer time.Duration) *pending {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := &pending{u: u}
	p.timer = time.AfterFunc(answer, func() { p.late(errNoAnswer) })
	return p
}

func (p *pending) late(err error) {
	p.u.mu.Lock()
	defer p.u.mu.Unlock()
	if p.counted || p.over {
		return
	}
	p.counted = true
	if p.u.n++; p.u.n == 1 {
		p.u.none = make(chan struct{})
	}
	p.u.last = err
}

func (p *pending) end() {
	p.u.mu.Lock()
	defer p.u.mu.Unlock()
	p.timer.Stop()
	p.over = true
	if !p.counted {
		return
	}
	p.counted = false
	if p.u.n--; p.u.n == 0 {
		close(p.u.none)
		p.u.none = nil
	}
}

// maxUndoPause bounds the delay after a server's return before it is asked again.
const maxUndoPause = 500 * time.Millisecond

// undo reverts an attempt that was sent then, by its own requests, until the lease is over.
func (k *keyLock) undo(ctx context.Context, nonce string, sent time.Time) {
	for pause := retryPause; ; pause = min(2*pause, maxUndoPause) {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
		_, err := k.free(short, nonce)
		cancel()
		if err == nil || k.c.final(err) || k.c.clock.Since(sent) > k.o.TTL || !k.c.pause(k.c.open, pause) {
			return
		}
	}
}
