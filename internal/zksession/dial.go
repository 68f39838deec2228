package zksession

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
)

// dialer returns the function that opens TCP connections for the library.
func (z *Conn) dialer(config *tls.Config) zk.Dialer {
	return func(_, _ string, timeout time.Duration) (net.Conn, error) {
		to, pause := z.hosts.due()
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-z.dialing.Done():
			}
		}
		ctx, cancel := context.WithTimeout(z.dialing, timeout)
		defer cancel()
		raw, err := to.dial(ctx, config)
		if hello, is := z.stale(); is && err == nil {
			if raw, err = z.replaced(raw, hello); raw == nil && err == nil {
				raw, err = to.dial(ctx, config)
			}
		}
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) { // during the handshake
			err = fmt.Errorf("%s: %w", to.address, closes(err))
		}
		if err != nil {
			z.refuse(err)
			return nil, err
		}
		c := &conn{Conn: raw, owner: z, address: to.address}
		z.mu.Lock()
		c.dead = time.Now().Add(handshakeWait(z.SessionTimeout(), z.shakes.hung))
		old := z.now
		z.now = c
		z.mu.Unlock()
		if old != nil {
			old.Close() // the library abandons a connection whose session has expired
		}
		if z.dialing.Err() != nil { // Close may have run before
			c.Close()
		}
		return c, nil
	}
}

func (z *Conn) refuse(err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refused = err
}

func (t target) dial(ctx context.Context, config *tls.Config) (net.Conn, error) {
	if t.err != nil {
		return nil, t.err
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", t.address)
	if err != nil || config == nil {
		return raw, err
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = t.server.host
	}
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, fmt.Errorf("TLS with %v: %w", t.server, err)
	}
	return secure, nil
}
