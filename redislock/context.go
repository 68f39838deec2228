package redislock

import "context"

// given returns ctx, or, if it is nil, a context that does not end: every method that
// takes a context does so, that a slip of the caller's ends neither the process nor, in
// Unlock, with a lock that stays.
func given(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
