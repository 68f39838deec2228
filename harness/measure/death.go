package measure

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// told is a stage of a measuring process, or the reason for its failure, which separates a
// failed lock from a failed lab or server. Older builds print neither.
type told struct {
	At     string `json:"at,omitempty"`
	Failed string `json:"failed,omitempty"`
	Usage  bool   `json:"usage,omitempty"` // Failed wraps harness.ErrUsage
	Meet   string `json:"meet,omitempty"`  // it waits at this point for a signal: see Plan.Together
}

// The stages of a measuring process.
const (
	atCalibration = "calibration" // only the lab runs
	atLock        = "lock"        // the lock exists, or is being made
	atWork        = "work"        // next a local lock is made; the clients of a distributed one are connected
)

// tell ignores a failure: then the parent is gone.
func tell(out io.Writer, t told) { _ = json.NewEncoder(out).Encode(t) }

// heard is the output of a measuring process.
type heard struct {
	told          // the latest of each
	answer []byte // all lines that are not told, such as results
}

// A listener is the output of a measuring process, or of any program that the user named.
type listener struct {
	heard
	meet func() // answers the process when it waits for the other ranks
	mu   sync.Mutex
	rest []byte // the start of a line
}

// Limits of the output: of a told line, and of all other lines together.
const (
	mostTold  = 64 << 10
	mostHeard = 64 << 20
)

func (l *listener) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.answer)+len(l.rest)+len(text) > mostHeard {
		return 0, errors.New("it prints without end")
	}
	l.rest = append(l.rest, text...)
	for len(l.rest) > 0 {
		end := bytes.IndexByte(l.rest, '\n') + 1
		if l.rest[0] != '{' { // all lines up to a brace at once: a program may print millions
			if end = bytes.Index(l.rest, []byte("\n{")) + 1; end == 0 {
				end = bytes.LastIndexByte(l.rest, '\n') + 1
			}
		}
		if end == 0 {
			break
		}
		l.hear(l.rest[:end])
		l.rest = l.rest[end:]
	}
	return len(text), nil
}

// hear handles one line, or lines that do not begin with a brace.
func (l *listener) hear(line []byte) {
	var t told
	if bytes.HasPrefix(line, []byte("{")) && len(line) < mostTold {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if dec.Decode(&t) != nil {
			t = told{}
		}
	}
	switch {
	case t == told{}:
		l.answer = append(l.answer, line...)
	case t.Failed != "":
		l.Failed, l.Usage = t.Failed, t.Usage
	case t.Meet != "":
		if l.meet != nil {
			l.meet()
		}
	default:
		l.At = t.At
	}
}

// end waits until the last line has been handled.
func (l *listener) end() heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer, l.rest = append(l.answer, l.rest...), nil
	return l.heard
}

func (h heard) silent() error {
	err := errors.New("it ended with status 0 and gave no result")
	if h.At == atLock || h.At == atWork {
		return crashed(err, nil)
	}
	return &lostError{err: fmt.Errorf("measure: measuring process: %w", err)}
}

// fate returns the error for a measuring process that ended with err, after the stages in h
// and with said on standard error:
//
// - a usage error, which ends the run;
// - a lostError, if the lab or a server could not measure;
// - a lostError worth another try, if the process was killed from outside, or the system
// refused it memory or threads;
// - a lockError, if the process ended on its own while the lock ran.
func fate(err error, h heard, said string) error {
	lines := slices.DeleteFunc(strings.Split(said, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	first := "it printed nothing"
	if len(lines) > 0 {
		first = result.OneLine(lines[0])
	}
	lost := fmt.Errorf("measure: measuring process: %w: %s", err, cmp.Or(result.OneLine(h.Failed), first))
	exit, ended := errors.AsType[*exec.ExitError](err)
	if !ended {
		return &lostError{err: lost}
	}
	switch {
	case h.Usage:
		text := strings.TrimPrefix(cmp.Or(result.OneLine(h.Failed), first), harness.ErrUsage.Error()+": ")
		return fmt.Errorf("%w: %s", harness.ErrUsage, text)
	case h.Failed != "":
		return &lostError{err: lost}
	case fromOutside(exit, lines):
		return &lostError{err: lost, again: true}
	case h.At == atLock, h.At == atWork, h.At == "" && traced(lines):
		return crashed(err, trace(lines))
	}
	return &lostError{err: lost}
}

// fromOutside reports whether another process's signal, or the system's refusal of memory or
// threads, ended a process.
func fromOutside(exit *exec.ExitError, lines []string) bool {
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return !slices.Contains(ownSignals, ws.Signal())
	}
	// The runtime prints a fatal signal's source: si_code is SI_USER, 0, after kill.
	for i, line := range lines[:min(len(lines), 12)] {
		if strings.HasPrefix(line, "SIGQUIT: ") {
			return true
		}
		if strings.HasPrefix(line, "PC=0x") && strings.Contains(line+" ", "sigcode=0 ") && i > 0 {
			return true
		}
		if slices.ContainsFunc(osFailures, func(r string) bool { return strings.HasPrefix(line, r) }) {
			return true
		}
	}
	return false
}

// ownSignals are signals caused by the process's own code.
var ownSignals = []syscall.Signal{syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGTRAP}

var osFailures = []string{
	"fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory",
	"fatal error: out of memory", "runtime: out of memory", "runtime: failed to create new OS thread", "runtime: may need to increase max user processes",
}

func traced(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") || strings.HasPrefix(l, "SIG")
	})
}

// Limits of a stored trace.
const (
	traceLines   = 12
	traceColumns = 200
)

func trace(lines []string) []string {
	if i := slices.IndexFunc(lines, func(l string) bool { return traced([]string{l}) }); i > 0 {
		lines = lines[i:]
	}
	return result.Each(lines[:min(len(lines), traceLines)], func(l string) string {
		return fmt.Sprintf("%.*s", traceColumns, result.OneLine(l))
	})
}

// A lostError is the loss of a result for a reason unrelated to the lock.
type lostError struct {
	err   error
	again bool // it was killed: another try may give a result
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

func lostBy(err error) error {
	if lost, ok := errors.AsType[*lostError](err); ok {
		return lost.err
	}
	return nil
}

// A lockError is an error caused by the lock: it hung or crashed the process.
type lockError struct {
	text      string
	violation oracle.Violation
}

func (e *lockError) Error() string { return e.text }

func crashed(err error, trace []string) error {
	text := fmt.Sprintf("%v: %s", err, append(trace, "it printed nothing")[0])
	return &lockError{text, oracle.Violation{Rule: oracle.Crash, Count: 1, Trace: trace,
		Detail: "the lock ended the process that measured it: " + text}}
}

// overdue: a process whose clients had not connected never requested the lock.
func overdue(h heard, limit time.Duration) error {
	if h.At == atCalibration || h.At == atLock {
		return &lostError{err: fmt.Errorf("measure: the measuring process was not ready to take the lock within %v: the machine, or a server, is too busy, or its limit of open files (ulimit -n) is too low", limit)}
	}
	return &lockError{fmt.Sprintf("measure: the measuring process could run for %v and did not end", limit),
		oracle.Violation{Rule: oracle.Liveness, Count: 1,
			Detail: fmt.Sprintf("the process that measured the lock was killed: it could run for %v and gave no result", limit)}}
}
