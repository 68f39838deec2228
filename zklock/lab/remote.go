package lab

import (
	"context"
	"strings"
	"time"

	"locklab/harness"
	"locklab/internal/adapt"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
)

const root = "/locklab"

const sanitizeWait = 2 * time.Second

var errs = adapt.Errors{
	NotHeld:     zklock.ErrNotHeld,
	NotAcquired: zklock.ErrNotAcquired,
	Lost:        zklock.ErrLost,
	Released:    zklock.ErrReleased,
	Usage:       zklock.ErrUsage,
	Unavailable: zklock.ErrUnavailable,
}

type locker interface {
	Lock(ctx context.Context) (*zklock.Lease, error)
	TryLock(ctx context.Context) (*zklock.Lease, error)
}

type sharer interface {
	locker
	RLock(ctx context.Context) (*zklock.Lease, error)
}

// remote returns the constructor of a variant whose workers share the lock that open makes.
func remote(open func(c *zklock.Client, path string, o zklock.Options) locker, below ...string) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return owners(func(c *zklock.Client, path string) func() locker {
		l := open(c, path, zklock.Options{})
		return func() locker { return l }
	}, below...)
}

// owners is remote for locks that give each worker a separate view.
func owners(open func(c *zklock.Client, path string) func() locker, below ...string) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		if err := wirezk.Check(at); err != nil {
			return nil, err
		}
		c, err := zklock.Dial(ctx, at.Addrs[0], zklock.ClientOptions{
			SessionTimeout: at.SessionTimeout, Username: at.Username, Password: at.Password, TLS: at.TLS,
		})
		if err != nil {
			return nil, errs.Wrap(err)
		}
		path := root + "/" + key
		r := &client{c: c, join: open(c, path)}
		for _, name := range append(below, "") {
			r.dirs = append(r.dirs, path+name)
		}
		return r, nil
	}
}

type client struct {
	c    *zklock.Client
	join func() locker
	dirs []string // where the tickets are
}

var (
	_ harness.Remote  = (*client)(nil)
	_ harness.Counter = (*client)(nil)
)

func (r *client) Join(context.Context, int) (harness.Session, error) {
	l := r.join()
	w := writer{adapt.Lock(errs, l.Lock), adapt.Lock(errs, l.TryLock)}
	if s, ok := l.(sharer); ok {
		return reader{w, adapt.Lock(errs, s.RLock)}, nil
	}
	return w, nil
}

// Counts returns the packets that the client has sent and received.
func (r *client) Counts() harness.Counts {
	s := r.c.Stats()
	return harness.Counts{Requests: s.Requests, Notifications: s.Notifications}
}

// Close removes the unneeded nodes above the tickets, and closes the client.
func (r *client) Close() error {
	return closeAfter(func() {
		for _, dir := range r.dirs {
			r.removeEmpty(dir)
		}
	}, r.c.Close)
}

// closeAfter calls end when sanitize has returned or takes too long; end fails its hung request.
func closeAfter(sanitize func(), end func() error) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		sanitize()
	}()
	select {
	case <-done:
	case <-time.After(sanitizeWait):
	}
	err := end()
	<-done
	return err
}

// removeEmpty removes the node at path and its parents below the root while they are empty.
func (r *client) removeEmpty(path string) {
	conn := recipe.Engine.Conn(r.c)
	for ; strings.HasPrefix(path, root+"/"); path = path[:strings.LastIndexByte(path, '/')] {
		if err := conn.Delete(path, -1); err != nil && !gone(err) {
			return
		}
	}
}

type writer struct {
	lock, try func(ctx context.Context) (harness.Lease, error)
}

var _ harness.TrySession = writer{}

func (s writer) Lock(ctx context.Context) (harness.Lease, error)    { return s.lock(ctx) }
func (s writer) TryLock(ctx context.Context) (harness.Lease, error) { return s.try(ctx) }
func (writer) Close() error                                         { return nil }

type reader struct {
	writer
	rlock func(ctx context.Context) (harness.Lease, error)
}

var _ harness.RWSession = reader{}

func (s reader) RLock(ctx context.Context) (harness.Lease, error) { return s.rlock(ctx) }
