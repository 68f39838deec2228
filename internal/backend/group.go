package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"locklab/internal/child"
)

// An instance is one of the servers that are started together.
type instance struct {
	member
	cmd        *exec.Cmd  // as it was started first
	restarting sync.Mutex // held meanwhile
	proc       *process   // the latest
}

var errStopped = errors.New("the servers were stopped")

// spawn starts the process of a server, whose previous process is gone.
func (s *Server) spawn(one *instance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.open); err != nil {
		return err
	}
	out := &child.Output{Most: 64 << 10, End: true}
	cmd := &exec.Cmd{Path: one.cmd.Path, Args: one.cmd.Args, Env: one.cmd.Env, Err: one.cmd.Err, Dir: one.dir, Stdout: out, Stderr: out}
	p, err := child.Start(cmd)
	if err == nil {
		one.proc = &process{p, out}
	}
	return err
}

// end implements stop.
func (s *Server) end() error {
	s.mu.Lock() // no process is being started
	s.shut(errStopped)
	s.mu.Unlock()
	for _, one := range s.servers {
		if p := s.process(one); p != nil {
			p.Kill()
		}
	}
	return s.dir.remove()
}

func (s *Server) process(one *instance) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return one.proc
}

func (s *Server) settle(ctx context.Context) error {
	if s.kind.settle == nil {
		return nil
	}
	var all []member
	for _, one := range s.servers {
		all = append(all, one.member)
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	return s.kind.settle(ctx, all)
}

func (s *Server) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, late := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("not ready within %v", readyTime))
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.open, func() { cancel(context.Cause(s.open)) })
	return ctx, func() {
		stop()
		cancel(nil)
		late()
	}
}

// restart kills a server if it runs, starts it again, and waits until it serves. Its port may
// temporarily belong to an outgoing connection.
func (s *Server) restart(ctx context.Context, one *instance) error {
	ctx, cancel := s.within(ctx)
	defer cancel()
	one.restarting.Lock() // for readyTime at most
	defer one.restarting.Unlock()
	for {
		s.process(one).Kill()
		err := s.spawn(one)
		if err != nil {
			return err
		}
		if _, err = s.ready(ctx, one); err == nil {
			return nil
		}
		if !errors.Is(err, errPortTaken) {
			s.process(one).Kill()
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			s.process(one).Kill()
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

type process struct {
	*child.Process
	output *child.Output
}

func (p *process) reason() error {
	err := fmt.Errorf("the server ended: %w", cmp.Or(p.Err(), errors.New("exit status 0")))
	if strings.Contains(strings.ToLower(p.output.String()), "address already in use") { // EADDRINUSE in C and in Java
		err = errPortTaken
	}
	return fmt.Errorf("%w; %s", err, p.printed())
}

func (p *process) printed() string {
	if text := child.LastWords(p.output.String()); text != "" {
		return fmt.Sprintf("it printed %q", text)
	}
	return "it printed nothing"
}
