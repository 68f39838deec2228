package chaos

import (
	"context"
	"fmt"
	"time"

	"locklab/internal/backend"
)

// limit returns a context that ends after deadline. Time does not count while servers start
// or clients connect, because a busy machine delays that.
func (t *Try) limit(ctx context.Context, deadline time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		const step = 20 * time.Millisecond
		for left := deadline; left > 0; sleep(ctx, step) {
			if ctx.Err() != nil {
				return
			}
			if t.Stage.starting.Load() == 0 {
				left -= step
			}
		}
		cancel(fmt.Errorf("chaos: %w after %v", context.DeadlineExceeded, deadline))
	}()
	return ctx, func() { cancel(nil) }
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
