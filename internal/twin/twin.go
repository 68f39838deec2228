package twin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/internal/child"
)

// A Twin is a C program that runs as a child and measures on demand. Several goroutines
// may call its methods; measurements wait for each other. The caller must close it.
type Twin struct {
	program *Program
	child   *child.Process
	stdin   io.WriteCloser
	stderr  child.Output

	stdout *io.PipeReader
	lines  *bufio.Scanner // of stdout
	forget func() bool    // stops the watch on the context
	mu     sync.Mutex     // held from a command to its answer
}

// A Reading is the result of one measurement.
type Reading struct {
	Elapsed time.Duration // time of the measured part
	Ops     []int64       // operations of each thread in that time
}

// NsPerOp returns the elapsed time in ns for one operation of any thread.
func (r Reading) NsPerOp() float64 {
	sum := int64(0)
	for _, n := range r.Ops {
		sum += n
	}
	return float64(r.Elapsed) / float64(sum)
}

// Unbound is a thread that is not bound to a CPU.
const Unbound = -1

// ErrEnded reports that the child is gone.
var ErrEnded = errors.New("twin: the C program has ended")

// Start builds p by the compiler that the variable CC names, or cc, and starts it until ctx ends.
// The error wraps [ErrNoCompiler] without a compiler.
func Start(ctx context.Context, p *Program) (*Twin, error) { return start(ctx, p, "-O2") }

func start(ctx context.Context, p *Program, flags ...string) (*Twin, error) {
	dir, err := os.MkdirTemp("", "locklab-twin-")
	if err != nil {
		return nil, fmt.Errorf("twin: %w", err)
	}
	defer os.RemoveAll(dir) // a running program needs no file
	path, err := build(ctx, dir, p, flags)
	if err != nil {
		return nil, err
	}
	t := &Twin{program: p, stderr: child.Output{Most: 4 << 10, End: true}}
	if err := t.launch(path); err != nil {
		return nil, fmt.Errorf("twin: start %s: %w", p.File, err)
	}
	t.forget = context.AfterFunc(ctx, t.kill)
	if err := t.greet(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Twin) launch(path string) (err error) {
	cmd := exec.Command(path)
	cmd.Stderr = &t.stderr
	if t.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	var in *io.PipeWriter
	t.stdout, in = io.Pipe()
	t.lines = bufio.NewScanner(t.stdout)
	cmd.Stdout = in
	if t.child, err = child.Start(cmd); err != nil {
		return err
	}
	go func() {
		<-t.child.Done()
		_ = in.Close() // never an error
	}()
	return nil
}

func (t *Twin) kill() {
	_ = t.stdout.Close() // never an error
	t.child.Kill()
}

func (t *Twin) greet(ctx context.Context) error {
	line, err := t.read(ctx)
	if err != nil {
		return err
	}
	want := strings.Join(append([]string{"twin 1", t.program.Topic}, t.program.Cases...), " ")
	if line != want {
		return fmt.Errorf("twin: %s printed %q, want %q", t.program.File, line, want)
	}
	return nil
}

// read returns the next line. A child that is late for ctx is killed: its answer would
// otherwise count for the next command.
func (t *Twin) read(ctx context.Context) (string, error) {
	defer context.AfterFunc(ctx, t.kill)()
	if t.lines.Scan() {
		return t.lines.Text(), nil
	}
	t.kill()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%w: %v: %s", ErrEnded, t.child.Err(), last(t.stderr.String()))
}

func (t *Twin) ask(ctx context.Context, command string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// If the child is gone, read returns a better error.
	_, _ = io.WriteString(t.stdin, command+"\n")
	line, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "ok" {
		return nil, fmt.Errorf("twin: %s: asked to %s: %s", t.program.File, command, line)
	}
	return words[1:], nil
}

// Run measures a case for about span, from 1 ms to a minute, with a thread for each of cpus,
// bound unless [Unbound]. If ctx ends first, so does the child: later calls return [ErrEnded].
func (t *Twin) Run(ctx context.Context, name string, cpus []int, span time.Duration) (Reading, error) {
	list := make([]string, len(cpus))
	for i, cpu := range cpus {
		if list[i] = "-"; cpu != Unbound {
			list[i] = strconv.Itoa(cpu)
		}
	}
	words, err := t.ask(ctx, fmt.Sprintf("run %s %s %d", name, strings.Join(list, ","), span.Milliseconds()))
	if err != nil {
		return Reading{}, err
	}
	return parseReading(words, len(cpus))
}

func parseReading(words []string, threads int) (Reading, error) {
	var r Reading
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return Reading{}, fmt.Errorf("twin: %q in an answer is no count", word)
		}
		if i == 0 {
			r.Elapsed = time.Duration(n)
		} else {
			r.Ops = append(r.Ops, n)
		}
	}
	if len(r.Ops) != threads || r.Elapsed == 0 {
		return Reading{}, fmt.Errorf("twin: the answer %q is not a time and %d counts", words, threads)
	}
	return r, nil
}

// Close ends the child and waits until it is gone. Further calls do nothing. Its error is nil.
func (t *Twin) Close() error {
	t.forget()
	_ = t.stdin.Close()
	const patience = time.Second
	select {
	case <-t.child.Done():
	case <-time.After(patience):
	}
	t.kill()
	return nil
}
