package backend

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"locklab/harness"
)

// Servers that the lab started may be hurt. They are counted from 0, in the order of
// the addresses, sentinels last.

// hurt returns the servers for something to be done to server i of them.
func (s *Server) hurt(i int) (*group, error) {
	if s.group == nil {
		return nil, fmt.Errorf("%w: backend: the lab did not start this server, and so leaves its process alone", harness.ErrUsage)
	}
	if n := s.group.size(); i < 0 || i >= n {
		return nil, fmt.Errorf("%w: backend: there is no server %d: they count from 0 to %d", harness.ErrUsage, i, n-1)
	}
	return s.group, nil
}

// PIDs returns the process ids, nil for the user's servers. Of a server that was killed
// it is what it was, and may be another's: see [Server.Signal].
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

// Signal sends server i a signal and does not wait for what comes of it, but for
// [syscall.SIGSTOP]: that has stopped it, on Linux, when Signal returns. It never reaches a process that the lab did not start: of a server that
// is gone the error wraps [os.ErrProcessDone].
func (s *Server) Signal(i int, sig os.Signal) error {
	g, err := s.hurt(i)
	if err != nil {
		return err
	}
	if err := g.signal(i, sig); err != nil {
		return fmt.Errorf("backend: signal %v for server %d: %w", sig, i, err)
	}
	if sig == syscall.SIGSTOP {
		stops(s.PID(i))
	}
	return nil
}

// Kill ends server i, also if it is stopped, and returns when its process is gone. It
// does nothing to one that is gone. Its directory stays, for [Server.Restart].
func (s *Server) Kill(i int) error {
	g, err := s.hurt(i)
	if err == nil {
		g.kill(i)
	}
	return err
}

// Restart starts server i again, by the same command, on the same port and with what it
// has on disk, and returns when it serves; one that still runs it kills first. A Redis
// server that was promoted or demoted is again what it was at the start. A member of a
// ZooKeeper ensemble does not serve before a majority is there: if more are missing,
// restart them at the same time.
//
// If it does not serve by the end of ctx, it is left killed, and may be restarted.
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

// Settle waits until all servers serve together as they did after the start: that
// replicas of Redis have their copy, say, after one was restarted. Servers that do not
// know each other, and a ZooKeeper ensemble, have no more to wait for than Restart does.
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
