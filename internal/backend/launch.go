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
	"sync"
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
	s := &Server{endpoint: harness.Endpoint{Kind: k.Name}, kind: k, dir: dir}
	s.open, s.shut = context.WithCancelCause(context.Background())
	s.stop = sync.OnceValue(s.end)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	members, err := newMembers(sys, dir.path, n, k.secure)
	if err != nil {
		return nil, err
	}
	if k.prepare != nil {
		if err := k.prepare(dir.path); err != nil {
			return nil, err
		}
	}
	for i, m := range members {
		all := members
		if k.alone {
			all = members[i : i+1]
		}
		cmd, err := k.command(p, m, all)
		if err != nil {
			return nil, err
		}
		one := &instance{member: m, cmd: cmd}
		s.servers = append(s.servers, one)
		if err := s.spawn(one); err != nil {
			return nil, err
		}
	}
	return s, s.serve(ctx)
}

// serve waits until all servers serve, and completes s.
func (s *Server) serve(ctx context.Context) (err error) {
	var addrs []string
	for _, one := range s.servers {
		if s.version, err = s.ready(ctx, one); err != nil {
			return err
		}
		addrs = append(addrs, one.clientAddr())
	}
	s.endpoint.Addrs = [][]string{addrs}
	if s.kind.alone {
		s.endpoint.Addrs = slices.Collect(slices.Chunk(addrs, 1))
	}
	return s.settle(ctx)
}

// ready polls a server until it serves and returns its version. A starting server may accept a
// connection and never answer, so each attempt has a limit, which grows for a busy machine.
func (s *Server) ready(ctx context.Context, one *instance) (string, error) {
	addr, p := one.addr(), s.process(one)
	limit := 100 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		actx, cancel := context.WithTimeout(ctx, limit)
		a, err := s.kind.probe(actx, harness.Endpoint{Kind: s.kind.Name}, addr)
		unanswered := actx.Err() != nil
		cancel()
		switch {
		case err == nil && s.kind.owns(a, one.member, p.PID()):
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
			return "", fmt.Errorf("%w: %w; %s", context.Cause(ctx), err, p.printed())
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
