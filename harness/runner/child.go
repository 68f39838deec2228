package runner

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/resultfile"
	"locklab/internal/machine"
)

// childEnv tells a process that it is to measure one case. The case comes on
// standard input, the result goes to standard output as one line of a result
// file, and the process ends when its standard input does, so that it cannot
// outlive its parent.
const childEnv = "LOCKLAB_MEASURE"

// A spec is a case on its way to the measuring process. It is the only place
// where credentials are written, and they go into a pipe.
type spec struct {
	Lock     string
	Workload harness.Workload
	Round    int
	Seed     uint64
	Key      string
	Machine  surveyed
	Describe bool // measure nothing: say what this program is

	exe string // the program to start; "" is this one

	At                 harness.Endpoint
	Username, Password string
	TLS                bool
	ServerName         string
}

func (s *spec) setEndpoint(at harness.Endpoint) {
	s.At, s.Username, s.Password = at, at.Username, at.Password
	if at.TLS != nil {
		s.TLS, s.ServerName = true, at.TLS.ServerName
	}
}

func (s *spec) endpoint() harness.Endpoint {
	at := s.At
	at.Username, at.Password = s.Username, s.Password
	if s.TLS {
		at.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}
	}
	return at
}

// Main returns at once in an ordinary process. In a measuring process it
// measures one lock of suite and never returns. It must be the first line of
// main.
func Main(suite []*harness.Variant) {
	if os.Getenv(childEnv) == "" {
		return
	}
	// The parent, which gets the same signal from the terminal, decides.
	signal.Ignore(os.Interrupt)
	if err := child(suite, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitCode(err))
	}
	os.Exit(0)
}

// The exit statuses of a measuring process.
const (
	exitFailed = 1
	exitOrphan = 3
	exitUsage  = 4 // not 2, with which a process ends that panics
)

func exitCode(err error) int {
	if errors.Is(err, harness.ErrUsage) {
		return exitUsage
	}
	return exitFailed
}

func child(suite []*harness.Variant, in io.Reader, out io.Writer) error {
	dec := json.NewDecoder(in)
	var s spec
	if err := dec.Decode(&s); err != nil {
		return fmt.Errorf("runner: measuring process: %w", err)
	}
	go func() {
		io.Copy(io.Discard, in)
		os.Exit(exitOrphan)
	}()
	if s.Describe {
		return json.NewEncoder(out).Encode(describe(suite))
	}
	var lock *harness.Variant
	for _, v := range suite {
		if v.Name == s.Lock {
			lock = v
		}
	}
	if lock == nil {
		return fmt.Errorf("runner: measuring process: no lock is called %q", s.Lock)
	}
	// A collection inside the window would be charged to the lock. The limit
	// keeps a long run of a lock that allocates from eating the machine.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1 << 30)
	res, err := Measure(context.Background(), s.Machine.instruments(), Job{
		Lock: lock, Workload: s.Workload, At: s.endpoint(), Key: s.Key, Seed: s.Seed,
	})
	if err != nil {
		return err
	}
	res.Round = s.Round
	text, err := resultfile.Encode(res)
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("runner: measuring process: %w", err)
	}
	return nil
}

// spawn measures s in a fresh process, which may take until limit.
func spawn(ctx context.Context, s spec, limit time.Duration) (*harness.Result, error) {
	text, err := ask(ctx, s, limit)
	if err != nil {
		return nil, err
	}
	record, err := resultfile.Decode(bytes.TrimSpace(text))
	if err == nil && record.Result == nil {
		err = errors.New("runner: a measuring process did not print a result")
	}
	return record.Result, err
}

// ask starts a measuring process with s, and returns what it prints until it
// ends, for which it has until limit.
func ask(ctx context.Context, s spec, limit time.Duration) ([]byte, error) {
	exe := s.exe
	if exe == "" {
		var err error
		if exe, err = machine.Executable(); err != nil {
			return nil, fmt.Errorf("runner: %w", err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	hctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(hctx, exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.WaitDelay = time.Second // where exe is a script that does not exec, and is killed
	var stdout, stderr answer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("runner: cannot start a measuring process: %w", err)
	}
	_, werr := stdin.Write(append(text, '\n'))
	err = cmd.Wait() // closes stdin
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("runner: %w", context.Cause(ctx))
	case hctx.Err() != nil:
		return nil, &hungError{after: limit}
	case err != nil:
		return nil, childError(err, string(stderr.text))
	case werr != nil:
		return nil, fmt.Errorf("runner: %w", werr)
	}
	return stdout.text, nil
}

// An answer is what a process prints, up to a size that none has reason to
// exceed: the process may be any program that the user named.
type answer struct{ text []byte }

const maxAnswer = 64 << 20

func (a *answer) Write(text []byte) (int, error) {
	if len(a.text)+len(text) > maxAnswer {
		return 0, errors.New("it prints without end")
	}
	a.text = append(a.text, text...)
	return len(text), nil
}

// childError makes one line of what a failed measuring process said.
func childError(err error, said string) error {
	said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitUsage {
		text := strings.TrimPrefix(said, harness.ErrUsage.Error()+": ")
		return fmt.Errorf("%w: %s", harness.ErrUsage, text)
	}
	return &lostError{fmt.Errorf("runner: measuring process: %w: %s", err, cmp.Or(said, "it said nothing"))}
}

// A lostError says that a measuring process ended without a result: it crashed,
// or somebody killed it.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// lostBy returns why a measuring process ended without a result, nil if err is
// none or says something else.
func lostBy(err error) error {
	var lost *lostError
	if errors.As(err, &lost) {
		return lost.err
	}
	return nil
}

// A hungError says that a measuring process did not end.
type hungError struct{ after time.Duration }

func (e *hungError) Error() string {
	return fmt.Sprintf("runner: the measuring process did not end within %v", e.after)
}

func (e *hungError) violation() harness.Violation {
	return harness.Violation{Rule: oracle.Liveness, Count: 1,
		Detail: fmt.Sprintf("the process that measured the lock was killed after %v without a result", e.after)}
}
