package measure

import (
	"context"
	"errors"
	"slices"

	"locklab/harness"
	"locklab/internal/faultproxy"
)

// Clients are the clients of one lock that a dry run or a trace observes.
type Clients struct {
	Lock *harness.Variant
	At   harness.Endpoint // of the servers, without TLS
	Key  string           // names the lock there

	exits []func() error // in the order of arrival
}

// Join returns the session of a new client. If observe is not nil, the client's messages pass
// proxies, which report each with the index of its server.
func (c *Clients) Join(ctx context.Context, worker int, observe func(server int, s faultproxy.Sighting)) (harness.Session, error) {
	at, framing := c.At, faultproxy.Redis
	if at.Kind == harness.KindZooKeeper {
		framing = faultproxy.ZooKeeper
	}
	if observe != nil {
		row, err := faultproxy.NewRow(at.Addrs, framing, func(server int) faultproxy.Options {
			return faultproxy.Options{Observe: func(s faultproxy.Sighting) { observe(server, s) }}
		})
		if err != nil {
			return nil, err
		}
		c.exits = append(c.exits, row.Close)
		at.Addrs = row.Addrs
	}
	remote, err := c.Lock.Remote(ctx, at, c.Key)
	if err != nil {
		return nil, err
	}
	c.exits = append(c.exits, remote.Close)
	s, err := remote.Join(ctx, worker)
	if err == nil {
		c.exits = append(c.exits, s.Close)
	}
	return s, err
}

// Close ends the clients, the latest first.
func (c *Clients) Close() (err error) {
	for _, exit := range slices.Backward(c.exits) {
		err = errors.Join(err, exit())
	}
	return err
}
