package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

type traceOptions struct {
	program *Program
	clients int
	hold    time.Duration
	json    bool
}

// maxTraced is the number of client names: one letter each.
const maxTraced = 26

// tracePatience is the greatest wait of a trace for a grant.
const tracePatience = 30 * time.Second

func (p *Program) traceCommand() *cobra.Command {
	o := traceOptions{program: p}
	cmd := &cobra.Command{
		Use:   "trace LOCK",
		Short: "Tell how a lock kept by servers works, message by message",
		Long: `trace lets clients A, B … ask a real server for one lock, each once the one
before it holds the lock or waits for it, and then lets them release it, one
after the other. It prints every message that the clients exchange with the
server. For a lock kept by ZooKeeper it also shows the nodes below the lock's,
which client made them and which watch them, whenever that has changed.

The messages pass a proxy that adds some hundredths of a millisecond: the times
show the order of things, not the speed of the lock.`,
		Example: `  locklab trace zk-fair
  locklab trace zk-herd --clients 4 --hold 10ms
  locklab trace redis-poll --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return fmt.Errorf("%w: trace tells of one lock, such as zk-fair; see '%s --help'", harness.ErrUsage, cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := o.trace(cmd.Context(), args[0])
			if cmd.Context().Err() != nil {
				return errInterrupted
			}
			if err != nil {
				return err
			}
			if o.json {
				return encodeJSON(cmd.OutOrStdout(), t)
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&o.clients, "clients", 2, "how many clients, A to Z at the most")
	cmd.Flags().DurationVar(&o.hold, "hold", 0, "how long each keeps the lock when it could pass it on")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// traceable returns the lock of that name if it can be traced.
func (o traceOptions) traceable(name string) (*harness.Variant, error) {
	locks, err := o.program.choose([]string{name})
	if err != nil {
		return nil, err
	}
	v := locks[0]
	switch {
	case len(locks) > 1:
		return nil, fmt.Errorf("%w: %q is %d locks: trace tells of one", harness.ErrUsage, name, len(locks))
	case v.Remote == nil:
		return nil, fmt.Errorf("%w: %s is kept in memory and sends no messages: trace tells of locks kept by servers ('%s list remote')", harness.ErrUsage, v.Name, o.program.Name)
	case v.Unavailable != "":
		return nil, fmt.Errorf("%w: %s: %s", harness.ErrUsage, v.Name, v.Unavailable)
	case v.Traits.Servers > 1:
		return nil, fmt.Errorf("%w: %s talks to %d servers: trace listens to one", harness.ErrUsage, v.Name, v.Traits.Servers)
	case o.clients < 1 || o.clients > maxTraced:
		return nil, fmt.Errorf("%w: --clients is %d: want 1 to %d", harness.ErrUsage, o.clients, maxTraced)
	case o.hold < 0:
		return nil, fmt.Errorf("%w: --hold is %v: want 0 or more", harness.ErrUsage, o.hold)
	}
	return v, nil
}

// trace records the lock of that name on a real server.
func (o traceOptions) trace(ctx context.Context, name string) (*trace, error) {
	v, err := o.traceable(name)
	if err != nil {
		return nil, err
	}
	srv, err := backend.Start(ctx, v.Traits.Needs)
	if errors.Is(err, harness.ErrUnavailable) {
		return nil, fmt.Errorf("%w: %s needs a server: %v", harness.ErrUsage, v.Name, err)
	}
	if err != nil {
		return nil, err
	}
	defer srv.Stop() // a server that cannot be stopped dies with this process
	at := srv.Endpoint()
	if at.TLS != nil {
		return nil, fmt.Errorf("%w: trace cannot read what is sent over TLS: give it a server without", harness.ErrUsage)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tracePatience+time.Duration(o.clients)*o.hold,
		fmt.Errorf("%s was not granted within %v", v.Name, tracePatience))
	defer cancel()
	c, err := newCast(ctx, v, at, o.clients)
	if err == nil {
		err = c.play(ctx, o.hold)
	}
	err = errors.Join(err, c.leave())
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t, err := c.record.story(c.path)
	if err != nil {
		return nil, err
	}
	t.Lock, t.Server, t.Clients = v.Name, at.Kind+" "+srv.Version(), o.clients
	return t, nil
}

type cast struct {
	at     harness.Endpoint
	path   string // of the lock: a node, or the common text of its keys
	record *recorder
	look   observer // observes the server directly, outside of the trace

	members []member
	exits   []func() error // in the order of arrival
}

// A member is a client of the lock, and its only worker.
type member struct {
	name string
	harness.Session
}

// newCast connects clients clients to the server, each through a proxy that reports to the
// recorder. The caller must call leave, also after an error.
func newCast(ctx context.Context, v *harness.Variant, at harness.Endpoint, clients int) (*cast, error) {
	key := fmt.Sprintf("trace-%x-%x", time.Now().Unix(), os.Getpid())
	c := &cast{at: at, record: newRecorder()}
	var framing func() faultproxy.Framing
	switch at.Kind {
	case harness.KindZooKeeper:
		c.path, framing, c.look = "/locklab/"+key, faultproxy.ZooKeeper, seeZooKeeper
	default:
		c.path, framing, c.look = key, faultproxy.Redis, seeRedis
	}
	// First another client uses the lock: the nodes above the tickets exist, and ticket 0
	// has been taken.
	usher, err := c.join(ctx, v, at, key, 0)
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
	for i := range clients {
		name := string(rune('A' + i))
		through, err := c.proxies(at, framing, func(s faultproxy.Sighting) { c.record.see(name, s) })
		if err != nil {
			return c, err
		}
		s, err := c.join(ctx, v, through, key, i+1)
		if err != nil {
			return c, err
		}
		c.members = append(c.members, member{name, s})
	}
	return c, nil
}

// proxies puts a proxy in front of each server, or of the first server of each ensemble.
func (c *cast) proxies(at harness.Endpoint, framing func() faultproxy.Framing, see func(faultproxy.Sighting)) (harness.Endpoint, error) {
	through := at
	through.Addrs = nil
	for _, list := range at.Addrs {
		p, err := faultproxy.New(list[0], framing, faultproxy.Options{Observe: see})
		if err != nil {
			return at, err
		}
		c.exits = append(c.exits, p.Close)
		through.Addrs = append(through.Addrs, []string{p.Addr()})
	}
	return through, nil
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

// leave closes everything, the latest first.
func (c *cast) leave() (err error) {
	for i := len(c.exits) - 1; i >= 0; i-- {
		err = errors.Join(err, c.exits[i]())
	}
	return err
}

// A grant is the result of a client's Lock.
type grant struct {
	i   int
	l   harness.Lease
	err error
}

// play lets the clients request the lock, each after the previous one has settled, and then
// pass it on.
func (c *cast) play(ctx context.Context, hold time.Duration) error {
	granted := make(chan grant, len(c.members))
	look, end, err := c.look(ctx, c.at, c.path)
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

// The greatest time to settle. ZooKeeper clients do settle; Redis clients may poll, or wait
// in a request.
const (
	settleZooKeeper = 5 * time.Second
	settleRedis     = 100 * time.Millisecond
)

// settle waits until no message comes, and records the state of the server.
func (c *cast) settle(ctx context.Context, look func(context.Context) (snapshot, error)) error {
	enough := settleRedis
	if c.at.Kind == harness.KindZooKeeper {
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
