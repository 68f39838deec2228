package backend

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/child"
)

// A group is the servers that are started together, with the parent of their directories.
type group struct {
	kind *Kind
	dir  *workdir
	at   harness.Endpoint // how to reach any of them, without its address

	open context.Context // ends with stop
	shut context.CancelCauseFunc
	stop func() error // ends all servers and returns when nothing is left of them; once

	mu      sync.Mutex // guards their processes; none is started after stop
	servers []*instance
}

type instance struct {
	member
	cmd        *exec.Cmd  // as it was started first
	restarting sync.Mutex // held meanwhile
	proc       *process   // the latest
}

var errStopped = errors.New("the servers were stopped")

func newGroup(k *Kind, dir *workdir) *group {
	g := &group{kind: k, dir: dir}
	g.open, g.shut = context.WithCancelCause(context.Background())
	g.stop = sync.OnceValue(g.end)
	return g
}

func (g *group) add(m member, cmd *exec.Cmd) error {
	s := &instance{member: m, cmd: cmd}
	g.servers = append(g.servers, s) // before others know of g
	_, err := g.spawn(s)
	return err
}

// spawn starts the process of a server, whose previous process is gone.
func (g *group) spawn(s *instance) (*process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := context.Cause(g.open); err != nil {
		return nil, err
	}
	p, err := spawn(&exec.Cmd{Path: s.cmd.Path, Args: s.cmd.Args, Env: s.cmd.Env, Err: s.cmd.Err}, s.dir)
	if err == nil {
		s.proc = p
	}
	return p, err
}

// end implements stop.
func (g *group) end() error {
	g.mu.Lock() // no process is being started
	g.shut(errStopped)
	g.mu.Unlock()
	for _, s := range g.servers {
		if p := g.process(s); p != nil {
			p.Kill()
		}
	}
	return g.dir.remove()
}

func (g *group) process(s *instance) *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.proc
}

func (g *group) pids() (pids []int) {
	for _, s := range g.servers {
		pids = append(pids, g.process(s).PID())
	}
	return pids
}

func (g *group) settle(ctx context.Context) error {
	if g.kind.settle == nil {
		return nil
	}
	var all []member
	for _, s := range g.servers {
		all = append(all, s.member)
	}
	ctx, cancel := g.within(ctx)
	defer cancel()
	return g.kind.settle(ctx, all)
}

func (g *group) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, late := context.WithTimeoutCause(ctx, readyTime, fmt.Errorf("not ready within %v", readyTime))
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.open, func() { cancel(context.Cause(g.open)) })
	return ctx, func() {
		stop()
		cancel(nil)
		late()
	}
}

// restart kills server i if it runs, starts it again, and waits until it serves. Its port may
// temporarily belong to an outgoing connection.
func (g *group) restart(ctx context.Context, i int) error {
	ctx, cancel := g.within(ctx)
	defer cancel()
	s := g.servers[i]
	s.restarting.Lock() // for readyTime at most
	defer s.restarting.Unlock()
	for {
		g.process(s).Kill()
		p, err := g.spawn(s)
		if err != nil {
			return err
		}
		if _, err = ready(ctx, g.kind, g.at, s.member, p); err == nil {
			return nil
		}
		if !errors.Is(err, errPortTaken) {
			p.Kill()
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			p.Kill()
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

type process struct {
	*child.Process
	output *child.Output
}

// spawn starts cmd in dir.
func spawn(cmd *exec.Cmd, dir string) (*process, error) {
	out := &child.Output{Most: 64 << 10, End: true}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.WaitDelay = time.Second // for a child of a dead server that holds the output open
	p, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &process{p, out}, nil
}

func (p *process) reason() error {
	err := fmt.Errorf("the server ended: %w", p.Err())
	if strings.Contains(strings.ToLower(p.output.String()), "address already in use") { // EADDRINUSE in C and in Java
		err = errPortTaken
	}
	return fmt.Errorf("%w; %s", err, p.said())
}

func (p *process) said() string {
	if text := child.LastWords(p.output.String()); text != "" {
		return fmt.Sprintf("it printed %q", text)
	}
	return "it printed nothing"
}
