// Package trace records the messages that clients of one remote lock exchange with its
// server, in the order of their effects.
package trace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/internal/faultproxy"
	wireredis "locklab/internal/wire/redis"
	wirezk "locklab/internal/wire/zookeeper"
)

// patience is the greatest wait of a trace for a grant.
const patience = 30 * time.Second

// Record lets clients A, B … ask for the lock v at a server without TLS, each once the
// previous one holds the lock or waits for it. Each then keeps it for hold and releases it.
// There are at most 26 clients. The caller sets Server.
func Record(ctx context.Context, v *harness.Variant, at harness.Endpoint, clients int, hold time.Duration) (*Trace, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience+time.Duration(clients)*hold,
		fmt.Errorf("%s was not granted within %v", v.Name, patience))
	defer cancel()
	c, err := newCast(ctx, v, at, clients)
	if err == nil {
		err = c.play(ctx, hold)
	}
	t, doubt := c.record.timeline(c.path)
	if err := errors.Join(err, c.Close(), c.away()); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if doubt != nil {
		return nil, doubt
	}
	t.Lock, t.Clients = v.Name, clients
	return t, nil
}

type cast struct {
	measure.Clients
	sessions []harness.Session // of the clients A, B …, each with its only worker

	path   string // of the lock: a node, or the common text of its keys
	record *recorder
	look   observer      // outside of the trace
	away   func() error  // ends the observer
	settle time.Duration // the longest time to settle
}

// newCast connects clients clients to the server, each through a proxy that reports to the
// recorder. The caller must call Close and away, also after an error.
func newCast(ctx context.Context, v *harness.Variant, at harness.Endpoint, clients int) (*cast, error) {
	key := fmt.Sprintf("trace-%x-%x", time.Now().Unix(), os.Getpid())
	c := &cast{Clients: measure.Clients{Lock: v, At: at, Key: key}, path: key, record: &recorder{open: make(map[callID]*event)}, away: func() error { return nil }}
	if err := c.observe(ctx); err != nil {
		return c, err
	}
	// Another client goes first: the nodes above the tickets exist, and ticket 0 is taken.
	usher, err := c.Join(ctx, 0, nil)
	if err != nil {
		return c, err
	}
	l, err := usher.Lock(ctx)
	if err == nil {
		err = l.Unlock(ctx)
	}
	if err != nil {
		return c, err
	}
	c.At.Addrs = [][]string{at.Addrs[0][:1]}
	for i := range clients {
		s, err := c.Join(ctx, i+1, func(_ int, s faultproxy.Sighting) { c.record.see(name(i), s) })
		if err != nil {
			return c, err
		}
		c.sessions = append(c.sessions, s)
	}
	return c, nil
}

func name(client int) string { return string(rune('A' + client)) }

// observe connects an independent client.
func (c *cast) observe(ctx context.Context) error {
	if c.At.Kind == harness.KindZooKeeper {
		c.path, c.settle = "/locklab/"+c.path, 5*time.Second
		conn, err := wirezk.Connect(ctx, c.At, wirezk.Options{})
		if err == nil {
			c.look, c.away = observeZooKeeper(conn, c.path), func() error { conn.Close(); return nil }
		}
		return err
	}
	c.settle = 100 * time.Millisecond // clients may poll, or wait in a request
	client, _, err := wireredis.Connect(c.At)
	if err == nil {
		c.look, c.away = observeRedis(client, c.path), client.Close
	}
	return err
}

type grant struct {
	client int
	lease  harness.Lease
	err    error
}

// play lets the clients request the lock in turn, as each settles, and then pass it on.
func (c *cast) play(ctx context.Context, hold time.Duration) error {
	granted := make(chan grant, len(c.sessions))
	before, err := c.look(ctx)
	if err != nil {
		return err
	}
	c.record.start(before)
	for i, s := range c.sessions {
		c.record.say(name(i), "wants the lock")
		go func() {
			l, err := s.Lock(ctx)
			if err == nil {
				c.record.say(name(i), owns(l))
			}
			granted <- grant{i, l, err}
		}()
		err = errors.Join(err, c.awaitCalm(ctx))
	}
	for range c.sessions {
		g := <-granted
		if g.err != nil {
			err = errors.Join(err, g.err)
			continue
		}
		if err == nil {
			err = sleep(ctx, hold)
		}
		c.record.say(name(g.client), "releases the lock")
		err = errors.Join(err, g.lease.Unlock(ctx))
		if err == nil {
			err = c.awaitCalm(ctx)
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func owns(l harness.Lease) string {
	if token := l.Token(); token > 0 {
		return fmt.Sprintf("owns the lock, with token %d", token)
	}
	return "owns the lock"
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet is the duration of silence that counts as settled.
const quiet = 40 * time.Millisecond

// awaitCalm waits until no message comes, and records the state of the server.
func (c *cast) awaitCalm(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < c.settle; {
		if err := sleep(ctx, quiet/10); err != nil {
			return err
		}
		if !c.record.calm() {
			continue
		}
		s, err := c.look(ctx)
		if err != nil {
			return err
		}
		if c.record.calm() { // during the whole time
			c.record.addSnapshot(s)
			return nil
		}
	}
	return nil
}
