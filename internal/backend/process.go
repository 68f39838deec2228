package backend

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"locklab/internal/child"
)

type process struct {
	*child.Process
	log string
}

// spawn starts cmd in dir. It overwrites the output of the previous process there.
func spawn(cmd *exec.Cmd, dir string) (*process, error) {
	name := filepath.Join(dir, "log")
	out, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = out, out
	p, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &process{p, name}, nil
}

func (p *process) reason() error {
	err := fmt.Errorf("the server ended: %w", p.Err())
	if strings.Contains(strings.ToLower(p.output()), "address already in use") { // EADDRINUSE in C and in Java
		err = errPortTaken
	}
	return fmt.Errorf("%w; %s", err, p.said())
}

func (p *process) said() string {
	if text := child.LastWords(p.output()); text != "" {
		return fmt.Sprintf("it printed %q", text)
	}
	return "it printed nothing"
}

// output returns the end of the process's output.
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
