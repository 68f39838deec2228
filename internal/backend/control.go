package backend

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"locklab/harness"
)

// Only servers that the lab started may be disturbed. Their numbers start at 0, in the order of the
// addresses, sentinels last.

func (s *Server) hurt(i int) (*group, error) {
	if s.group == nil {
		return nil, fmt.Errorf("%w: backend: the lab did not start this server, and so leaves its process alone", harness.ErrUsage)
	}
	if n := len(s.group.servers); i < 0 || i >= n {
		return nil, fmt.Errorf("%w: backend: there is no server %d: they count from 0 to %d", harness.ErrUsage, i, n-1)
	}
	return s.group, nil
}

// PIDs returns the process ids, nil for the user's servers. The id of a killed server may belong to
// another process: see [Server.Signal].
func (s *Server) PIDs() []int {
	if s.group == nil {
		return nil
	}
	return s.group.pids()
}

// PID returns the process id of server i, and 0 for the user's.
func (s *Server) PID(i int) int {
	if g, err := s.hurt(i); err == nil {
		return g.pids()[i]
	}
	return 0
}

// Signal sends server i a signal and does not wait for the effect. After [syscall.SIGSTOP] it waits
// on Linux until the server has stopped. It never reaches a process that the lab did not start. If
// the server is gone, the error wraps [os.ErrProcessDone].
func (s *Server) Signal(i int, sig os.Signal) error {
	g, err := s.hurt(i)
	if err != nil {
		return err
	}
	if err := g.process(g.servers[i]).Signal(sig); err != nil {
		return fmt.Errorf("backend: signal %v for server %d: %w", sig, i, err)
	}
	if sig == syscall.SIGSTOP {
		stops(s.PID(i))
	}
	return nil
}

// Kill ends server i, even if it is stopped, and returns when its process is gone. It does nothing
// if the process is already gone. Its directory stays, for [Server.Restart].
func (s *Server) Kill(i int) error {
	g, err := s.hurt(i)
	if err == nil {
		g.process(g.servers[i]).Kill()
	}
	return err
}

// Restart starts server i again, with the same command, port and data on disk, and returns
// when it serves. It kills a running server first. A Redis server that was promoted or demoted
// gets its original role. A member of a ZooKeeper ensemble does not serve without a majority:
// restart missing members at the same time. If it does not serve before ctx ends, Restart
// kills it; it may be restarted.
func (s *Server) Restart(ctx context.Context, i int) error {
	g, err := s.hurt(i)
	if err != nil {
		return err
	}
	if err := g.restart(ctx, i); err != nil {
		return fmt.Errorf("backend: restart %s server %d: %w", g.kind.Name, i, err)
	}
	return nil
}

// Settle waits until all servers serve together as after the start, for example until a restarted
// Redis replica has its copy. For independent servers and ZooKeeper ensembles it adds nothing to
// Restart.
func (s *Server) Settle(ctx context.Context) error {
	g, err := s.hurt(0)
	if err != nil {
		return err
	}
	if err := g.settle(ctx); err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	return nil
}
