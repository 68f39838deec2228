package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"locklab/harness"
)

const (
	readyTime = 30 * time.Second // for a server to start; TestStartStop prints what it takes
	portTries = 5
)

var errPortTaken = errors.New("address in use")

// launch starts n servers of the kind, one ensemble unless k.alone is set, and waits until all
// are ready. If another process takes a port first, launch tries other ports.
func launch(ctx context.Context, sys system, k *Kind, n int) (*Server, error) {
	p, err := k.find(sys)
	if err != nil {
		return nil, err
	}
	sweep(sys.temp)
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("not ready within %v", readyTime))
	defer cancel()
	for try := 1; ; try++ {
		s, err := launchOnce(ctx, sys, k, p, n)
		if err == nil {
			return s, nil
		}
		if try == portTries || !errors.Is(err, errPortTaken) {
			return nil, fmt.Errorf("backend: start %s (%s): %w", k.Name, p.path, err)
		}
	}
}

func launchOnce(ctx context.Context, sys system, k *Kind, p program, n int) (_ *Server, err error) {
	dir, err := newWorkdir(sys.temp, k.Name)
	if err != nil {
		return nil, err
	}
	g := newGroup(k, dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.stop())
		}
	}()
	members, err := newMembers(sys, dir.path, n, k.secure)
	if err != nil {
		return nil, err
	}
	s := &Server{endpoint: harness.Endpoint{Kind: k.Name}, group: g}
	if k.prepare != nil {
		if err := k.prepare(dir.path, &s.endpoint); err != nil {
			return nil, err
		}
	}
	for _, m := range members {
		cmd, err := k.command(p, m, members)
		if err != nil {
			return nil, err
		}
		if err := g.add(m, cmd); err != nil {
			return nil, err
		}
	}
	if err := g.serve(ctx, s, members); err != nil {
		return nil, err
	}
	return s, nil
}

// serve waits until all members serve, and completes s.
func (g *group) serve(ctx context.Context, s *Server, members []member) (err error) {
	k := g.kind
	var addrs []string
	for i, m := range members {
		if s.version, err = ready(ctx, k, s.endpoint, m, g.servers[i].proc); err != nil {
			return err
		}
		addrs = append(addrs, m.clientAddr())
	}
	g.at = s.endpoint
	s.endpoint.Addrs = [][]string{addrs}
	if k.alone {
		s.endpoint.Addrs = slices.Collect(slices.Chunk(addrs, 1))
	}
	return g.settle(ctx)
}

// ready polls a server until it serves and returns its version. A starting server may accept a
// connection and never answer, so each attempt has a limit, which grows for a busy machine.
func ready(ctx context.Context, k *Kind, at harness.Endpoint, m member, p *process) (string, error) {
	addr := m.addr()
	limit := 100 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		actx, cancel := context.WithTimeout(ctx, limit)
		a, err := k.probe(actx, at, addr)
		unanswered := actx.Err() != nil
		cancel()
		switch {
		case err == nil && k.owns(a, m, p.PID()):
			return a.version, nil
		case err == nil:
			return "", fmt.Errorf("%w: another server answers on %s", errPortTaken, addr)
		case unanswered:
			limit *= 2
		}
		select {
		case <-p.Done():
			return "", p.reason()
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %w; %s", context.Cause(ctx), err, p.said())
		case <-time.After(pause):
		}
	}
}

// newMembers creates a directory and finds free ports for each of n servers.
func newMembers(sys system, dir string, n int, secure bool) ([]member, error) {
	const each = 4
	ports, err := sys.ports(each * n)
	if err != nil {
		return nil, err
	}
	members := make([]member, n)
	for i, p := range slices.Collect(slices.Chunk(ports, each)) {
		members[i] = member{dir: filepath.Join(dir, strconv.Itoa(i+1)), port: p[0], quorum: p[1], election: p[2]}
		if secure {
			members[i].secure = p[3]
		}
		if err := os.Mkdir(members[i].dir, 0o700); err != nil {
			return nil, err
		}
	}
	return members, nil
}

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
