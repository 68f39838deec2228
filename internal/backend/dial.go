package backend

import (
	"context"
	"crypto/tls"
	"net"
)

// dial connects to a server, over TLS if conf is set. When ctx ends the connection fails. The
// caller must call end, which closes it.
func dial(ctx context.Context, addr string, conf *tls.Config) (conn net.Conn, end func(), err error) {
	conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline) // gives a better error than closing
	}
	if conf != nil {
		conn = tls.Client(conn, conf)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return conn, func() { stop(); conn.Close() }, nil
}
