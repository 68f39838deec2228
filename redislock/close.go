package redislock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/lock"
)

const closeWait = time.Second

var errStuck = errors.New("redislock: closed, but the client library has not returned from a request: set its ReadTimeout")

// Shutdown gives back everything, as at the end of a process. No new Lock begins, and waiting
// Locks leave their queues and return ErrClosed. Held leases end, with an Err that wraps
// ErrLost and ErrClosed, and their locks are released: end the work under them before. An
// Unlock in progress continues. Then, or when ctx ends, the client closes. The error names the
// locks that stay until their leases are over, and wraps the error of ctx if requests were
// still running.
func (c *Client) Shutdown(ctx context.Context) error {
	ctx = lock.Given(ctx)
	c.stop()
	c.revokeAll()
	idle := c.idle(ctx)
	for idle && c.revokeAll() { // a Lock may have succeeded meanwhile
		idle = c.idle(ctx)
	}
	err := c.close() // ends the tries of the requests that still run
	if !idle {
		err = errors.Join(fmt.Errorf("redislock: shut down while the server was being asked: %w", context.Cause(ctx)), err)
	}
	return errors.Join(append(c.unpaid(), err)...)
}

// Close ends every wait and every lease, and returns when all goroutines of the client have
// ended. Waiters leave their queues first, within a second. Keys without Unlock stay until
// they expire: Shutdown releases them. It may be called twice. The error is from closing the
// blocking connections, or reports a request that does not return, as happens without a read
// timeout.
func (c *Client) Close() error {
	c.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	c.idle(ctx)
	return c.close()
}

func (c *Client) close() error {
	for _, m := range c.mail.close() {
		if !c.spawn(m.pass) {
			m.pass() // another Close has begun to wait for the goroutines
		}
	}
	c.mu.Lock()
	c.closed = true
	if c.watchdog != nil {
		c.watchdog.Stop()
	}
	blocking := c.blocking
	c.blocking = nil
	c.mu.Unlock()
	for _, l := range c.takeHeld() {
		l.end(fmt.Errorf("%w: %w", ErrLost, ErrClosed))
		if j := l.whole.Load(); j != nil {
			j.check()
		}
	}
	c.shut()
	var err error
	if blocking != nil {
		err = blocking.Close() // ends the commands that block
	}
	ended := make(chan struct{})
	go func() { c.work.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(unlockWait + c.longest):
		err = errors.Join(err, errStuck)
	}
	return err
}

// revokeAll gives back every held lock, each in a task, and reports whether there was any.
// A lease of several parts is given back whole, unless the whole belongs to another client.
func (c *Client) revokeAll() bool {
	held := c.takeHeld()
	for _, l := range held {
		if j := l.whole.Load(); j != nil && j.all.c == c && j.lasts() {
			l = j.all
		}
		cause := fmt.Errorf("%w: %w", ErrLost, ErrClosed)
		if !c.task(func() {
			if err := l.revoke(cause); err != nil && l.joint != nil && l.joint.spread() {
				c.owe(l.name, err) // other clients record the debts of their parts
			}
		}) {
			l.end(cause)
		}
	}
	return len(held) > 0
}

// takeHeld returns the held leases and ends their renewals. Shutdown names each until forget.
func (c *Client) takeHeld() (held []*Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.leases {
		if c.leases[l] {
			held, c.leases[l] = append(held, l), false
		}
	}
	return held
}

// task is spawn for work that Shutdown waits for.
func (c *Client) task(f func()) bool {
	begun := c.taskBegins()
	if begun {
		go func() {
			defer c.taskEnds()
			f()
		}()
	}
	return begun
}

// taskBegins begins a task in the calling goroutine, until taskEnds, unless the client is closed.
func (c *Client) taskBegins() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks++
	c.work.Add(1)
	return true
}

func (c *Client) admit(f func()) bool { return c.closedErr() == nil && c.task(f) }

func (c *Client) taskEnds() {
	defer c.work.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks--; c.tasks == 0 {
		c.noTask.Broadcast()
	}
}

// idle waits until there are no tasks. It returns false if ctx ends before.
func (c *Client) idle(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.noTask.Broadcast()
	})()
	for c.tasks > 0 && ctx.Err() == nil {
		c.noTask.Wait()
	}
	return c.tasks == 0
}

type debt struct {
	name string
	err  error // of the latest try with a reason; guarded by c.mu
}

func (c *Client) owe(name string, err error) (d *debt, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d = &debt{name, errUndoing}
	d.note(err)
	c.owed[d] = true
	return d, len(c.owed)
}

func (c *Client) pay(d *debt, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.note(err); err == nil {
		delete(c.owed, d)
	}
}

// note keeps the earlier reason if err is only from the end of the client or of a try's time.
func (d *debt) note(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrClosed) {
		d.err = err
	}
}

func (c *Client) unpaid() (errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := make(map[string]error)
	for l := range c.leases {
		by[l.name] = ErrClosed
	}
	for d := range c.owed {
		by[d.name] = d.err
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		errs = append(errs, fmt.Errorf("redislock: %s was not given back: %w", name, explain(by[name])))
	}
	return errs
}
