package backend

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"locklab/harness"
)

// A Server is a running server, or an ensemble of them. Its methods may be
// called by any goroutine.
type Server struct {
	endpoint harness.Endpoint
	version  string

	sentinels []string // of the layout Sentinel
	replicas  int      // of a Setup, which have no address in endpoint

	// The rest is zero for the user's servers.

	kind *Kind
	dir  *workdir // the parent of the servers' directories

	open context.Context // ends with stop
	shut context.CancelCauseFunc
	stop func() error // ends all servers and returns when nothing is left of them; once

	mu      sync.Mutex // guards their processes; no process starts after stop
	servers []*instance
}

// Endpoint returns the addresses and settings to reach the server.
func (s *Server) Endpoint() harness.Endpoint {
	at := s.endpoint
	at.Addrs = make([][]string, len(s.endpoint.Addrs))
	for i, list := range s.endpoint.Addrs {
		at.Addrs[i] = slices.Clone(list)
	}
	addrs := len(slices.Concat(at.Addrs...))
	if pids := s.PIDs(); len(pids) >= addrs {
		at.PIDs = pids[:min(len(pids), addrs+s.replicas)]
	}
	if at.TLS != nil {
		at.TLS = at.TLS.Clone()
	}
	return at
}

// Version returns the version reported by the server, such as "7.0.15", or "unknown".
func (s *Server) Version() string { return s.version }

// Owned reports whether the lab started the server. On a server that is not owned the lab
// touches only names under its own run id and never uses FLUSH, CONFIG, DEBUG or signals.
func (s *Server) Owned() bool { return s.dir != nil }

// Sentinels returns the addresses of the sentinels of the layout [Sentinel], nil of others.
func (s *Server) Sentinels() []string { return slices.Clone(s.sentinels) }

// Stop ends the server in any state, and returns when its process is gone and its directory
// removed. A concurrent Restart fails. It does nothing to the user's server. Further calls return
// the result of the first.
func (s *Server) Stop() error {
	if s.dir == nil {
		return nil
	}
	return s.stop()
}

// Only servers that the lab started may be disturbed. Their numbers start at 0, in the order of the
// addresses, sentinels last.

func (s *Server) hurt(i int) (*instance, error) {
	if s.dir == nil {
		return nil, fmt.Errorf("%w: backend: the lab did not start this server, and so leaves its process alone", harness.ErrUsage)
	}
	if n := len(s.servers); i < 0 || i >= n {
		return nil, fmt.Errorf("%w: backend: there is no server %d: they count from 0 to %d", harness.ErrUsage, i, n-1)
	}
	return s.servers[i], nil
}

// PIDs returns the process ids, nil for the user's servers. The id of a killed server may belong to
// another process: see [Server.Signal].
func (s *Server) PIDs() (pids []int) {
	for _, one := range s.servers {
		pids = append(pids, s.process(one).PID())
	}
	return pids
}

// Signal sends server i a signal and does not wait for the effect. After [syscall.SIGSTOP] it waits
// on Linux until the server has stopped. It never reaches a process that the lab did not start. If
// the server is gone, the error wraps [os.ErrProcessDone].
func (s *Server) Signal(i int, sig os.Signal) error {
	one, err := s.hurt(i)
	if err != nil {
		return err
	}
	if err := s.process(one).Signal(sig); err != nil {
		return fmt.Errorf("backend: signal %v for server %d: %w", sig, i, err)
	}
	if sig == syscall.SIGSTOP {
		stops(s.process(one).PID())
	}
	return nil
}

// Kill ends server i, even if it is stopped, and returns when its process is gone. It does nothing
// if the process is already gone. Its directory stays, for [Server.Restart].
func (s *Server) Kill(i int) error {
	one, err := s.hurt(i)
	if err == nil {
		s.process(one).Kill()
	}
	return err
}

// Restart starts server i again, with the same command, port and data on disk, and returns
// when it serves. It kills a running server first. A Redis server that was promoted or demoted
// gets its original role. A member of a ZooKeeper ensemble does not serve without a majority:
// restart missing members at the same time. If it does not serve before ctx ends, Restart
// kills it; it may be restarted.
func (s *Server) Restart(ctx context.Context, i int) error {
	one, err := s.hurt(i)
	if err != nil {
		return err
	}
	if err := s.restart(ctx, one); err != nil {
		return fmt.Errorf("backend: restart %s server %d: %w", s.kind.Name, i, err)
	}
	return nil
}

// Settle waits until all servers serve together as after the start, for example until a restarted
// Redis replica has its copy. For independent servers and ZooKeeper ensembles it adds nothing to
// Restart.
func (s *Server) Settle(ctx context.Context) error {
	if _, err := s.hurt(0); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return fmt.Errorf("backend: %w", err)
	}
	return nil
}

// stops waits at most a second until no thread of a process runs after SIGSTOP: on a busy machine
// it serves until each thread has run once more. It does not wait if the system does not report
// thread states.
func stops(pid int) {
	for end := time.Now().Add(time.Second); !stopped(pid) && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
}

// stopped reports whether all threads of a process are stopped, or it has none.
func stopped(pid int) bool {
	states, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // an error is a bad pattern
	for _, name := range states {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread is gone
		}
		// The state follows the name, which is in parentheses and may contain any character.
		if _, state, ok := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") ")); ok && !bytes.ContainsAny(state[:1], "TtZX") {
			return false
		}
	}
	return true
}
