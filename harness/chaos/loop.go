package chaos

import (
	"context"
	"errors"
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
	pause := l.Pause
	if pause == 0 {
		pause = 10 * time.Millisecond
	}
	for w.ctx.Err() == nil {
		h, err := w.lock(l.Try, l.Shared, l.Timeout)
		if err != nil {
			if errors.Is(err, errNoTry) {
				return
			}
			sleep(w.ctx, pause)
			continue
		}
		w.section(h, l, span(l.Hold))
		w.unlock()
		sleep(w.ctx, span(l.Think))
	}
}

func (w *worker) section(h *holding, l *Loop, hold time.Duration) {
	write := func(blind bool) {
		if !l.Quiet && (blind || h.lease.Err() == nil) {
			w.p.write(w, h.lease.Token(), h.shared)
		}
	}
	write(true)
	if l.Blind {
		sleep(w.ctx, hold)
		write(true)
		return
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.lease.Done():
	case <-w.ctx.Done():
	}
	write(false)
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
