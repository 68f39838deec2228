package lab

import (
	"context"
	"strings"

	"locklab/harness"
	"locklab/internal/adapt"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
	"locklab/zklock/internal/recipe"
)

const root = "/locklab"

type locker = adapt.Locker[*zklock.Lease]

func remote[L locker](open func(c *zklock.Client, path string, o zklock.Options) L, below ...string) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
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
			return nil, err
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

func (r *client) Join(context.Context, int) (harness.Session, error) {
	return adapt.NewSession(r.join()), nil
}

// Counts returns the packets that the client has sent and received.
func (r *client) Counts() harness.Counts {
	return harness.Counts(r.c.Stats())
}

// Close removes the unneeded nodes above the tickets, and closes the client.
func (r *client) Close() error {
	return adapt.CloseAfter(func() {
		for _, dir := range r.dirs {
			r.removeEmpty(dir)
		}
	}, r.c.Close)
}

func (r *client) removeEmpty(path string) {
	conn := recipe.Engine.Conn(r.c)
	for ; strings.HasPrefix(path, root+"/"); path = path[:strings.LastIndexByte(path, '/')] {
		if err := conn.Delete(path, -1); err != nil && !gone(err) {
			return
		}
	}
}
