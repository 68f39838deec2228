//go:build linux || darwin || freebsd

package backend

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A process is a child in a process group of its own, with its output in a
// file.
type process struct {
	pid  int
	log  string
	done chan struct{} // closed when the process is gone
	err  error         // valid after done: how it ended
}

// spawn starts cmd in dir.
func spawn(cmd *exec.Cmd, dir string) (*process, error) {
	p := &process{log: filepath.Join(dir, "log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()
	if err := onSpawnThread(cmd.Start); err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// kill ends the process and its children at once, also if they are stopped.
// There is nothing to save: their directory goes with them.
func (p *process) kill() {
	select {
	case <-p.done: // the process id may belong to another process by now
	default:
		unix.Kill(-p.pid, unix.SIGKILL)
	}
}

// reason says why a process that is gone did not stay.
func (p *process) reason() error {
	err := fmt.Errorf("the server ended: %w", p.err)
	if strings.Contains(strings.ToLower(p.output()), "address already in use") { // EADDRINUSE in C and in Java
		err = errPortTaken
	}
	return fmt.Errorf("%w; %s", err, p.said())
}

// said quotes the end of what the process printed, in one line and without the
// stack frames of Java.
func (p *process) said() string {
	var words []string
	for line := range strings.Lines(p.output()) {
		if !strings.HasPrefix(line, "\tat ") {
			words = append(words, strings.Fields(line)...)
		}
	}
	const most = 600 // bytes
	text := strings.Join(words, " ")
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	if text == "" {
		return "it printed nothing"
	}
	return fmt.Sprintf("it printed %q", text)
}

// output is the end of what the process printed.
func (p *process) output() string {
	const most = 64 << 10
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		f.Seek(max(0, size-most), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return string(text)
}

// onSpawnThread runs f on the thread whose end would kill the servers.
func onSpawnThread(f func() error) error {
	result := make(chan error)
	spawnThread() <- func() { result <- f() }
	return <-result
}

// spawnThread starts, once, the goroutine that forks all servers.
var spawnThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go spawnLoop(work)
	return work
})

// spawnLoop never returns: see the package comment.
func spawnLoop(work <-chan func()) {
	runtime.LockOSThread()
	for f := range work {
		f()
	}
}
