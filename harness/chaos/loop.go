package chaos

import (
	"context"
	"math/rand/v2"
	"time"
)

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
		w.p.write(w, h.lease.Token(), h.shared)
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.lease.Done():
	case <-w.ctx.Done():
	}
	if !l.Quiet && h.lease.Err() == nil {
		w.p.write(w, h.lease.Token(), h.shared)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
