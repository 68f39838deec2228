package redis

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"locklab/harness"
)

// A Counter counts commands and messages. Its zero value is ready to use; it is safe for
// concurrent use by several clients.
type Counter struct{ requests, messages atomic.Uint64 }

// Counts returns the totals of commands and messages.
func (c *Counter) Counts() harness.Counts {
	return harness.Counts{Requests: c.requests.Load(), Notifications: c.messages.Load()}
}

var (
	handshake = []string{"hello", "auth", "client", "select"} // of each connection
	messages  = []string{"message", "pmessage", "smessage"}   // other pushes confirm subscriptions
)

func (c *Counter) sent(kind byte, name string) {
	if kind == '*' && !slices.Contains(handshake, strings.ToLower(name)) {
		c.requests.Add(1)
	}
}

func (c *Counter) received(kind byte, name string) {
	if kind == '>' && slices.Contains(messages, name) {
		c.messages.Add(1)
	}
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// counting returns dial with connections that count in c.
func counting(dial dialer, c *Counter) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		inner, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conn := &counted{Conn: inner, out: frames{first: c.sent}, in: frames{first: c.received}}
		if s, ok := inner.(syscall.Conn); ok {
			return visible{conn, s}, nil
		}
		return conn, nil
	}
}

// counted is a connection that counts. One goroutine reads it and one writes it at a time.
type counted struct {
	net.Conn
	out, in frames
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.in.scan(p[:n])
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.out.scan(p[:n])
	return n, err
}

// visible is a connection whose socket the client library may check.
type visible struct {
	*counted
	syscall.Conn
}
