package zklock

import "context"

// orBackground is ctx, or a context that does not end if it is nil. Every method
// that is given a context begins with it: the rest runs in goroutines of the client,
// where a panic would end the process.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
