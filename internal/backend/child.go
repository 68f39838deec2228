//go:build linux || darwin || freebsd

package backend

import (
	"fmt"
	"os/exec"
)

// A Child is a helper program of this process, such as a lock of another
// language. Like a server it has a process group of its own and, on Linux,
// ends with this process however that ends.
type Child struct{ proc *process }

// StartChild starts cmd. Its input and output are the caller's to set up; where
// cmd.Stdout is a pipe, the caller reads it before Done.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	cmd.SysProcAttr = attributes()
	if err := onSpawnThread(cmd.Start); err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	p := &process{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return &Child{p}, nil
}

// PID returns the process id, for tests that signal the child.
func (c *Child) PID() int { return c.proc.pid }

// Done is closed when the child is gone.
func (c *Child) Done() <-chan struct{} { return c.proc.done }

// Kill ends the child and its children, also if they are stopped, and returns
// when it is gone. It does nothing to a child that is gone.
func (c *Child) Kill() {
	c.proc.kill()
	<-c.proc.done
}
