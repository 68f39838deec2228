package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
)

type holding struct {
	lease  harness.Lease
	shared bool

	mu       sync.Mutex
	over     bool  // it is being released: its end is not reported
	deadline int64 // the latest that was read
}

func (w *worker) watch(h *holding) {
	every(h.lease.Done(), beat, h.readDeadline)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		w.recordLoss(h)
	}
}

// readDeadline reads no Deadline after the last one has passed. A lease must close Done then, and
// the call could do that.
func (h *holding) readDeadline() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now() < h.deadline {
		h.deadline = max(h.deadline, until(h.lease))
	}
}

// The caller holds h.mu.
func (w *worker) recordLoss(h *holding) {
	h.over = true
	w.event(oracle.Event{At: now(), Kind: oracle.Told, Token: h.lease.Token(), Shared: h.shared, Deadline: h.deadline, Text: fmt.Sprint(h.lease.Err())})
}

// A Namer is a [harness.Remote] that can take locks of other names over the same connections, like
// the clients of services.
type Namer interface {
	harness.Remote

	// Named returns the lock called key. It ends with its parent Remote: its own
	// Close does nothing.
	Named(key string) harness.Remote
}

// join makes w a worker of an existing client: of the same lock or, if the client can
// have several, of another.
func (w *worker) join(o *opening) error {
	with := w.p.worker(o.With)
	w.remote = with.remote
	if o.Key == with.key || with.remote == nil {
		return nil
	}
	n, ok := with.remote.(Namer)
	if !ok {
		return fmt.Errorf("%w: a client of %s has one lock", harness.ErrUsage, o.Lock)
	}
	w.remote = n.Named(o.Key)
	return nil
}

func (w *worker) loop(l *Loop) {
	rng := rand.New(rand.NewPCG(l.Seed, uint64(w.id)))
	span := func(d time.Duration) time.Duration {
		if l.Random && d > 0 {
			return time.Duration(rng.Int64N(int64(2 * d)))
		}
		return d
	}
	for w.ctx.Err() == nil {
		h, err := w.lock(false, false, 0)
		if err != nil {
			sleep(w.ctx, 10*time.Millisecond)
			continue
		}
		w.section(h, l, span(l.Hold))
		w.unlock()
		sleep(w.ctx, span(l.Think))
	}
}

func (w *worker) section(h *holding, l *Loop, hold time.Duration) {
	if !l.Quiet {
		w.write(h)
	}
	select {
	case <-time.After(hold):
	case <-h.lease.Done():
	case <-w.ctx.Done():
	}
	if !l.Quiet && h.lease.Err() == nil {
		w.write(h)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
