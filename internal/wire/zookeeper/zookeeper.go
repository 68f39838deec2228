package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/zksession"
)

// Options configures a connection. The zero value is usable.
type Options struct {
	// OnEvent and Counter are as in [zksession.Options].
	OnEvent func(zk.Event)
	Counter *Counter
}

// A Counter counts the traffic of any number of connections. Its zero value is ready to use.
type Counter struct{ packets zksession.Counter }

// Counts returns the traffic until now.
func (c *Counter) Counts() harness.Counts { return counts(&c.packets) }

func counts(from interface {
	Traffic() (requests, notifications uint64)
}) harness.Counts {
	requests, notifications := from.Traffic()
	return harness.Counts{Requests: requests, Notifications: notifications}
}

// A Conn is a session with an ensemble.
type Conn struct{ *zksession.Conn }

// Counts returns the traffic of the connection's Counter.
func (c *Conn) Counts() harness.Counts { return counts(c.Conn) }

// Check returns an error that wraps harness.ErrUsage if at is not an ensemble.
func Check(at harness.Endpoint) error {
	switch {
	case at.Kind != harness.KindZooKeeper:
		return fmt.Errorf("wire: %w: endpoint is of kind %q, want %q", harness.ErrUsage, at.Kind, harness.KindZooKeeper)
	case len(at.Addrs) == 0 || len(at.Addrs[0]) == 0:
		return fmt.Errorf("wire: %w: endpoint of kind %q has no address", harness.ErrUsage, at.Kind)
	case at.SessionTimeout < 0 || at.SessionTimeout > zksession.MaxSessionTimeout:
		return fmt.Errorf("wire: %w: session timeout %v", harness.ErrUsage, at.SessionTimeout)
	}
	if err := zksession.CheckServers(at.Addrs[0]); err != nil {
		return fmt.Errorf("wire: %w: %w", harness.ErrUsage, err)
	}
	return nil
}

// Connect connects to the ensemble in the first list of at.Addrs and waits for a session until
// ctx ends; the error then wraps harness.ErrUnavailable and ctx.Err(). With at.Username set, the
// session authenticates by digest. The caller closes the connection.
func Connect(ctx context.Context, at harness.Endpoint, o Options) (*Conn, error) {
	if err := Check(at); err != nil {
		return nil, err
	}
	s := zksession.Options{
		Servers: at.Addrs[0], SessionTimeout: at.SessionTimeout,
		Username: at.Username, Password: at.Password, TLS: at.TLS,
		OnEvent: o.OnEvent,
	}
	if o.Counter != nil {
		s.Counter = &o.Counter.packets
	}
	conn, err := zksession.Connect(ctx, s)
	if errors.Is(err, zksession.ErrNoSession) {
		err = fmt.Errorf("%w: %w", harness.ErrUnavailable, err)
	}
	if errors.Is(err, zksession.ErrAuthentication) {
		err = fmt.Errorf("wire: %w: %w", harness.ErrUsage, err)
	}
	if err != nil {
		return nil, err
	}
	return &Conn{conn}, nil
}
