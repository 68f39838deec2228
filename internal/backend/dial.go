package backend

import (
	"context"
	"crypto/tls"
	"net"
)

// dial connects to a server, over TLS if conf is set. When ctx ends the connection fails.
func dial(ctx context.Context, addr string, conf *tls.Config) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline) // gives a better error than closing
	}
	if conf != nil {
		conn = tls.Client(conn, conf)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return &boundConn{conn, stop}, nil
}

type boundConn struct {
	net.Conn
	stop func() bool
}

func (c *boundConn) Close() error {
	c.stop()
	return c.Conn.Close()
}

func handshaken(ctx context.Context, conn net.Conn) error {
	return conn.(*boundConn).Conn.(*tls.Conn).HandshakeContext(ctx)
}
