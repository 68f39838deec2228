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
	err = errors.Join(err, c.Close())
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t, err := c.record.timeline(c.path)
	if err != nil {
		return nil, err
	}
	t.Lock, t.Clients = v.Name, clients
	return t, nil
}

type cast struct {
	measure.Clients
	path   string // of the lock: a node, or the common text of its keys
	record *recorder
	look   observer // observes the server directly, outside of the trace

	members []member
}

// A member is a client of the lock, and its only worker.
type member struct {
	name string
	harness.Session
}

// newCast connects clients clients to the server, each through a proxy that reports to the
// recorder. The caller must call Close, also after an error.
func newCast(ctx context.Context, v *harness.Variant, at harness.Endpoint, clients int) (*cast, error) {
	key := fmt.Sprintf("trace-%x-%x", time.Now().Unix(), os.Getpid())
	c := &cast{Clients: measure.Clients{Lock: v, At: at, Key: key}, path: key, record: newRecorder(), look: seeRedis}
	if at.Kind == harness.KindZooKeeper {
		c.path, c.look = "/locklab/"+key, seeZooKeeper
	}
	// Another client goes first: the nodes above the tickets exist, and ticket 0 is taken.
	usher, err := c.Join(ctx, 0, nil)
	if err != nil {
		return c, err
	}
	l, err := usher.Lock(ctx)
	if err != nil {
		return c, err
	}
	if err := l.Unlock(ctx); err != nil {
		return c, err
	}
	c.At.Addrs = [][]string{at.Addrs[0][:1]}
	for i := range clients {
		name := string(rune('A' + i))
		s, err := c.Join(ctx, i+1, func(_ int, s faultproxy.Sighting) { c.record.see(name, s) })
		if err != nil {
			return c, err
		}
		c.members = append(c.members, member{name, s})
	}
	return c, nil
}

type grant struct {
	i   int
	l   harness.Lease
	err error
}

// play lets the clients request the lock in turn, as each settles, and then pass it on.
func (c *cast) play(ctx context.Context, hold time.Duration) error {
	granted := make(chan grant, len(c.members))
	look, end, err := c.look(ctx, c.At, c.path)
	if err != nil {
		return err
	}
	defer end()
	before, err := look(ctx)
	if err != nil {
		return err
	}
	c.record.start(before)
	defer c.record.stop()
	for i, m := range c.members {
		c.record.say(m.name, "wants the lock")
		go func() {
			l, err := m.Lock(ctx)
			if err == nil {
				c.record.say(m.name, owns(l))
			}
			granted <- grant{i, l, err}
		}()
		if err := c.settle(ctx, look); err != nil {
			break // the clients report it too
		}
	}
	for range c.members {
		g := <-granted
		if g.err != nil {
			err = errors.Join(err, g.err)
			continue
		}
		if err == nil {
			err = sleep(ctx, hold)
		}
		name := c.members[g.i].name
		c.record.say(name, "releases the lock")
		err = errors.Join(err, g.l.Unlock(ctx))
		if err == nil {
			err = c.settle(ctx, look)
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

// The greatest time to settle: Redis clients may poll, or wait in a request.
const (
	settleZooKeeper = 5 * time.Second
	settleRedis     = 100 * time.Millisecond
)

// settle waits until no message comes, and records the state of the server.
func (c *cast) settle(ctx context.Context, look func(context.Context) (snapshot, error)) error {
	enough := settleRedis
	if c.At.Kind == harness.KindZooKeeper {
		enough = settleZooKeeper
	}
	for began := time.Now(); time.Since(began) < enough; {
		if err := sleep(ctx, quiet/10); err != nil {
			return err
		}
		if !c.record.calm() {
			continue
		}
		s, err := look(ctx)
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
