package child

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

// A Process is a started child.
type Process struct {
	done chan struct{}
	err  error
	proc *os.Process
}

// Start starts cmd and sets its SysProcAttr. The caller sets up input and output. A pipe
// of cmd.StdoutPipe is closed as soon as the child is gone, and loses unread data; a
// Writer gets everything before Done. If the child's own children hold the output, Done comes
// cmd.WaitDelay after the end of the child, by default a second.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr, cmd.WaitDelay = attributes(), cmp.Or(cmd.WaitDelay, time.Second)
	if err := onSpawnThread(cmd.Start); err != nil {
		return nil, err
	}
	p := &Process{done: make(chan struct{}), proc: cmd.Process}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.proc.Pid }

// Done returns a channel that is closed when the child is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the end of the child and returns its error, as [exec.Cmd.Wait] does.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Kill ends the child and its children, also if they are stopped, and returns when it is
// gone. It does nothing if the child is gone: another process may have its id by now.
func (p *Process) Kill() {
	_ = p.Signal(os.Kill)
	<-p.done
}

// Signal sends the child a signal, and its children [os.Kill] too, without waiting. If the
// child is gone it returns [os.ErrProcessDone].
func (p *Process) Signal(s os.Signal) error {
	if s != os.Kill {
		return p.proc.Signal(s)
	}
	select {
	case <-p.done:
		return os.ErrProcessDone
	default: // if the child is gone, its children may still hold the output
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		return nil
	}
}

// onSpawnThread runs f on the thread whose end would kill the children.
func onSpawnThread(f func() error) error {
	result := make(chan error)
	spawnThread() <- func() { result <- f() }
	return <-result
}

var spawnThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go spawnLoop(work)
	return work
})

func spawnLoop(work <-chan func()) {
	pprof.SetGoroutineLabels(context.Background()) // it outlives the purpose of the first child
	runtime.LockOSThread()
	for f := range work {
		f()
	}
}
