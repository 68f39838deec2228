package zksession

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
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
			z.hosts.hangs(to.address) // else it could be the only one that does not count as hung
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

func (z *Conn) unavailable(ctx context.Context, servers []string) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	why := cmp.Or(z.refused, errors.New("no answer"))
	return fmt.Errorf("zksession: ZooKeeper at %v: %w: %w: %w", servers, ErrNoSession, ctx.Err(), why)
}

// enter presents the credentials, if any, and makes a request, because servers that require
// other credentials refuse it. The library presents them again after each reconnect.
func (z *Conn) enter(ctx context.Context, o Options) error {
	steps := []func() error{func() error { _, _, err := z.Exists("/"); return err }}
	if o.Username != "" {
		steps = slices.Insert(steps, 0, func() error { return z.AddAuth("digest", []byte(o.Username+":"+o.Password)) })
	}
	for _, step := range steps {
		done := make(chan error, 1)
		go func() { done <- z.insist(ctx, step) }()
		var err error
		select {
		case err = <-done:
		case <-ctx.Done(): // the caller closes z, which ends the goroutine
		}
		switch {
		case ctx.Err() != nil:
			return z.unavailable(ctx, o.Servers)
		case err != nil:
			return fmt.Errorf("zksession: %w", err)
		}
	}
	return nil
}

// insistPause limits the rate of a step that fails at once.
const insistPause = 10 * time.Millisecond

// insist repeats the step until no connection breaks during it, or ctx ends.
func (z *Conn) insist(ctx context.Context, step func() error) error {
	for ; ; time.Sleep(insistPause) {
		err := step()
		z.mu.Lock()
		refused := z.refused
		z.mu.Unlock()
		switch {
		case errors.Is(refused, ErrAuthentication):
			return refused
		case errors.Is(err, zk.ErrAuthFailed):
			return fmt.Errorf("ZooKeeper refused the credentials: %w", err)
		case ctx.Err() != nil || z.dialing.Err() != nil || !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, zk.ErrNoServer):
			return nil // served, perhaps with an error
		}
	}
}
