package redislock

import "context"

// given returns ctx, or a context that does not end if ctx is nil. Every method with a context
// calls it, so that a caller's mistake neither panics nor makes Unlock leave the lock held.
func given(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
