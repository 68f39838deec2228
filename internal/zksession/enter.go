package zksession

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

func (z *Conn) unavailable(ctx context.Context, servers []string) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	why := z.refused
	if why == nil {
		why = errors.New("no answer")
	}
	return fmt.Errorf("zksession: ZooKeeper at %v: %w: %w: %w", servers, ErrNoSession, ctx.Err(), why)
}

// enter presents the credentials, if any, and makes a request, because servers that require
// other credentials refuse it. The library presents them again after each reconnect.
func (z *Conn) enter(ctx context.Context, o Options) error {
	steps := []func() error{func() error { _, _, err := z.Exists("/"); return err }}
	if o.Username != "" {
		steps = slices.Insert(steps, 0, func() error { return z.AddAuth("digest", []byte(o.Username+":"+o.Password)) })
	}
	for _, step := range steps {
		done := make(chan error, 1)
		go func() { done <- z.insist(ctx, step) }()
		var err error
		select {
		case err = <-done:
		case <-ctx.Done(): // the caller closes z, which ends the goroutine
		}
		switch {
		case ctx.Err() != nil:
			return z.unavailable(ctx, o.Servers)
		case err != nil:
			return fmt.Errorf("zksession: %w", err)
		}
	}
	return nil
}

// insistPause limits the rate of a step that fails at once.
const insistPause = 10 * time.Millisecond

// insist repeats the step until no connection breaks during it, or ctx ends.
func (z *Conn) insist(ctx context.Context, step func() error) error {
	for ; ; time.Sleep(insistPause) {
		err := step()
		z.mu.Lock()
		refused := z.refused
		z.mu.Unlock()
		switch {
		case errors.Is(refused, ErrAuthentication):
			return refused
		case errors.Is(err, zk.ErrAuthFailed):
			return fmt.Errorf("ZooKeeper refused the credentials: %w", err)
		case ctx.Err() != nil || z.dialing.Err() != nil || !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, zk.ErrNoServer):
			return nil // served, perhaps with an error
		}
	}
}
