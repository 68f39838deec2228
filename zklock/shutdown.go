package zklock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/lock"
)

// Shutdown closes the client in order. No lock is taken from then on: each Lock returns
// ErrClosed, and waiting ones leave the queue. The held leases end, with an Err that wraps
// ErrLost and ErrClosed, and their locks are given back: end the work before. Lost locks that were
// not unlocked are given back too. Then, or when ctx ends, the client is closed, as by Close.
//
// The error names the locks that were not given back. They are free when the session ends: at
// once if a server answers Close, else when the servers time it out. Shutdown may be called
// twice, and concurrently with Close.
func (c *Client) Shutdown(ctx context.Context) error {
	ctx = lock.Given(ctx)
	c.mu.Lock()
	c.shut()
	held := slices.Collect(maps.Keys(c.leases))
	c.mu.Unlock()

	var work sync.WaitGroup
	for _, l := range held {
		l.revoke(fmt.Errorf("%w: %w", ErrLost, ErrClosed))
		work.Go(func() { l.release() })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		work.Wait()
		c.line.Wait()
	}()
	why := errRefused
	select {
	case <-done:
	case <-ctx.Done():
		why = ctx.Err()
	}
	if c.live.Err() != nil {
		why = ErrClosed
	}
	var left []string
	c.mu.Lock()
	for t := range c.contacts.waits {
		left = append(left, t.q.name)
	}
	for l := range c.leases {
		left = append(left, l.q.name)
	}
	c.mu.Unlock()
	c.Close()
	<-done
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("zklock: not given back before the client was closed: %s: %w", strings.Join(slices.Compact(left), ", "), why)
}

// Close ends the client's session, with every lock and every wait, and returns when all its
// goroutines have ended. If no server answers, that takes a second or two, and the tickets stay
// until one answers or the session times out. The error is always nil. Close may be called
// twice. [Client.Shutdown] gives the locks back first, and reports failures.
func (c *Client) Close() error {
	c.mu.Lock()
	c.kill()
	c.loseAll(fmt.Errorf("%w: %w", ErrLost, ErrClosed))
	for _, timer := range []*time.Timer{c.watchdog, c.contacts.timer} {
		if timer != nil {
			timer.Stop()
		}
	}
	c.mu.Unlock()
	c.conn.Close()
	c.work.Wait()
	return nil
}
