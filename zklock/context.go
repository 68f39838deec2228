package zklock

import "context"

// orBackground returns ctx, or a context that does not end if ctx is nil. Every method with a
// context calls it, because a panic in a goroutine of the client would end the process.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
