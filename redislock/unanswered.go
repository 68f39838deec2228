package redislock

import (
	"context"
	"sync"
	"time"
)

// unanswered is what a client has asked a server of a [Redlock] of which it does not know
// what has become, with no answer in time or none at all. While there is any the server
// is not asked for more: a client that waited for it would keep its votes from the others, and
// each request would take a connection.
type unanswered struct {
	mu   sync.Mutex
	n    int
	last error         // of the latest of them
	none chan struct{} // closed when there are none again; nil while there are none
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

// state returns what closes when there are none again, nil if there are none now, and
// the latest error.
func (u *unanswered) state() (none <-chan struct{}, last error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.none, u.last
}

// A pending is one attempt to get a key. It counts as unanswered from when the time to
// answer is over until it is known that there is no key of it.
type pending struct {
	u     *unanswered
	timer *time.Timer

	mu            sync.Mutex
	counted, over bool
}

// await notes an attempt that may take so long.
func (u *unanswered) await(answer time.Duration) *pending {
	p := &pending{u: u}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(answer, func() { p.late(errNoAnswer) })
	return p
}

// late counts it, with that error.
func (p *pending) late(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.counted && !p.over {
		p.counted = true
		p.u.add(err)
	}
}

// end says that all is known of it.
func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	if p.over = true; p.counted {
		p.counted = false
		p.u.remove()
	}
}

// maxUndoPause is how long after a server is back at most it is asked again.
const maxUndoPause = 500 * time.Millisecond

// undo takes back what an attempt may have done that was sent at that time: when the
// server answers, or its lease is over. What asks is a request to that server too, so
// there is one on its way for each attempt, and no more.
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
