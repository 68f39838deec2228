package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/internal/backend"
)

// A limit is the deadline of a try. It pauses while servers start, because a busy machine
// delays that.
type limit struct {
	mu     sync.Mutex
	timer  *time.Timer
	ends   time.Time
	paused int
	left   time.Duration
}

func (t *Try) limit(ctx context.Context, deadline time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	why := fmt.Errorf("chaos: %w after %v", context.DeadlineExceeded, deadline)
	l := &limit{timer: time.AfterFunc(deadline, func() { cancel(why) }), ends: time.Now().Add(deadline)}
	t.Stage.limit = l
	return ctx, func() { l.timer.Stop(); cancel(nil) }
}

func (l *limit) starting() func() {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused++; l.paused == 1 && l.timer.Stop() {
		l.left = time.Until(l.ends)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.paused--; l.paused == 0 && l.left > 0 {
			l.ends = time.Now().Add(l.left)
			l.timer.Reset(l.left)
			l.left = 0
		}
	}
}

// Own starts servers for this try only, which it may break. They stop when it ends.
func (t *Try) Own(ctx context.Context, start func(context.Context) (*backend.Server, error)) (*backend.Server, error) {
	server, err := t.Stage.start(ctx, start)
	if err != nil {
		return nil, err
	}
	t.Defer(func() { server.Stop() })
	t.mu.Lock()
	t.own = append(t.own, server)
	t.mu.Unlock()
	return server, nil
}
