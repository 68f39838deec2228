// Package trace records the messages that clients of one remote lock exchange with its
// server, in the order of their effects.
package trace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"locklab/harness"
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
	if err := errors.Join(err, c.leave()); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if doubt != nil {
		return nil, doubt
	}
	t.Lock, t.Clients = v.Name, clients
	return t, nil
}

type cast struct {
	path   string // of the lock: a node, or the common text of its keys
	record *recorder
	look   observer      // outside of the trace
	settle time.Duration // the longest time to settle

	clients []harness.Session // A, B …, each with its only worker
	exits   []func() error    // in the order of arrival
}

// newCast connects clients clients to the server, each through a proxy that reports to the
// recorder. The caller must call leave, also after an error.
func newCast(ctx context.Context, v *harness.Variant, at harness.Endpoint, clients int) (*cast, error) {
	key := fmt.Sprintf("trace-%x-%x", time.Now().Unix(), os.Getpid())
	c := &cast{path: key, record: newRecorder()}
	framing, err := c.observe(ctx, at)
	if err != nil {
		return c, err
	}
	// Another client goes first: the nodes above the tickets exist, and ticket 0 is taken.
	usher, err := c.join(ctx, v, at, key, 0)
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
	for i := range clients {
		through := at
		see := func(s faultproxy.Sighting) { c.record.see(name(i), s) }
		row, err := faultproxy.NewRow([][]string{at.Addrs[0][:1]}, framing, func(int) faultproxy.Options { return faultproxy.Options{Observe: see} })
		if err != nil {
			return c, err
		}
		c.exits = append(c.exits, row.Close)
		through.Addrs = row.Addrs
		s, err := c.join(ctx, v, through, key, i+1)
		if err != nil {
			return c, err
		}
		c.clients = append(c.clients, s)
	}
	return c, nil
}

func name(client int) string { return string(rune('A' + client)) }

// observe connects an independent client, and returns the framing of the server's messages.
func (c *cast) observe(ctx context.Context, at harness.Endpoint) (func() faultproxy.Framing, error) {
	if at.Kind == harness.KindZooKeeper {
		c.path, c.settle = "/locklab/"+c.path, 5*time.Second
		conn, err := wirezk.Connect(ctx, at, wirezk.Options{})
		if err == nil {
			c.look = observeZooKeeper(conn, c.path)
			c.exits = append(c.exits, func() error { conn.Close(); return nil })
		}
		return faultproxy.ZooKeeper, err
	}
	c.settle = 100 * time.Millisecond // clients may poll, or wait in a request
	client, _, err := wireredis.Connect(at)
	if err == nil {
		c.look = observeRedis(client, c.path)
		c.exits = append(c.exits, client.Close)
	}
	return faultproxy.Redis, err
}

func (c *cast) join(ctx context.Context, v *harness.Variant, at harness.Endpoint, key string, i int) (harness.Session, error) {
	r, err := v.Remote(ctx, at, key)
	if err != nil {
		return nil, err
	}
	c.exits = append(c.exits, r.Close)
	s, err := r.Join(ctx, i)
	if err == nil {
		c.exits = append(c.exits, s.Close)
	}
	return s, err
}

func (c *cast) leave() (err error) {
	for _, exit := range slices.Backward(c.exits) {
		err = errors.Join(err, exit())
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
	granted := make(chan grant, len(c.clients))
	before, err := c.look(ctx)
	if err != nil {
		return err
	}
	c.record.start(before)
	for i, s := range c.clients {
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
	for range c.clients {
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
			c.record.look(s)
			return nil
		}
	}
	return nil
}
