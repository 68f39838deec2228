package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/child"
)

// TestHungProcess: a hanging lock is a finding, and a client that never connects is not.
func TestHungProcess(t *testing.T) {
	for _, c := range []struct {
		lock  *harness.Variant
		found bool
	}{{hang, true}, {deaf, true}, {unreachable, false}} {
		t.Run(c.lock.Name, func(t *testing.T) {
			t.Parallel()
			p := plan(1, c.lock)
			p.Cases[0].Workload.Window, p.Patience = time.Millisecond, 4*time.Second // time for the process to reach the lock
			at := runPlan(t, p)[0]
			found := at.Result != nil && len(at.Result.Violations) == 1 && at.Result.Violations[0].Rule == "liveness"
			if found != c.found || (at.Lost == nil) != c.found {
				t.Errorf("result %+v, lost: %v", at.Result, at.Lost)
			}
		})
	}
}

func TestKillHung(t *testing.T) {
	for share, want := range map[float64]bool{0: false, 1: true} {
		cmd := exec.Command("sleep", "0.3")
		proc, err := child.Start(cmd)
		requireNoError(t, err)
		served, _ := rationCPU(share)
		hangs := killHung(proc, served, 20*time.Millisecond)
		err = proc.Err()
		if got := hangs(); got != want || (err != nil) != want {
			t.Errorf("with %v of a processor: killed is %v (%v)", share, got, err)
		}
	}
}

func TestOrphan(t *testing.T) {
	exe, err := os.Executable()
	requireNoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	in, err := cmd.StdinPipe()
	requireNoError(t, err)
	requireNoError(t, cmd.Start())
	fmt.Fprintln(in, `{"Lock":"hang","Workload":{"workers":1,"window":1}}`)
	time.Sleep(300 * time.Millisecond)
	in.Close()
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.ExitCode() != exitOrphan {
		t.Errorf("%v, want exit status %d", err, exitOrphan)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	requireNoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

func thisProgram(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	requireNoError(t, err)
	return script(t, "exec '"+exe+"'")
}

func TestAskBuild(t *testing.T) {
	path := thisProgram(t)
	b, err := AskBuild(t.Context(), path)
	requireNoError(t, err)
	if b.Path != path || b.Protocol != protocol || b.Schema != result.Schema || b.Go == "" || b.Arch == "" ||
		b.Overhead.Loop <= 0 || !slices.Contains(b.Locks, "good") {
		t.Errorf("%+v", b)
	}
}

func TestAskBuildRefuses(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	requireNoError(t, os.WriteFile(plain, []byte("text"), 0o644))
	const hear = "read -r spec\n"
	for _, c := range []struct{ path, want string }{
		{filepath.Join(t.TempDir(), "none"), "no such file"},
		{t.TempDir(), "is a directory"},
		{plain, "permission denied"},
		{script(t, hear+"exit 0"), "protocol"},
		{script(t, hear+"echo '{}'"), "no protocol version"},
		{script(t, "exec head -n 1"), "no protocol version"}, // echoes its input
		{script(t, hear+"exit 7"), "status 7"},
		{script(t, hear+`echo 'no lock is called ""' >&2; exit 1`), "older than --interleave"}, // the output of older builds
		{script(t, "exec yes"), "pipe"},                                                        // is stopped before it fills the memory
		{script(t, hear+fmt.Sprintf(`echo '{"protocol":%d,"schema":%d}'`, protocol+1, result.Schema)), "build both"},
		{script(t, hear+fmt.Sprintf(`echo '{"protocol":%d,"schema":%d}'`, protocol, result.Schema+1)), "build both"},
	} {
		_, err := AskBuild(t.Context(), c.path)
		if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line with %q", err, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := AskBuild(ctx, script(t, "exec sleep 60")); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 8*time.Second {
		t.Errorf("a program that does not answer: %v after %v", err, time.Since(start))
	}
}

// TestRunBuilds: each build measures every case of a round in turn, in varying order.
func TestRunBuilds(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	exe, err := os.Executable()
	requireNoError(t, err)
	builds := []Build{
		{Path: script(t, "echo 0 >> '"+log+"'; exec '"+exe+"'")},
		{Path: script(t, "echo 1 >> '"+log+"'; exec '"+exe+"'")},
	}
	p := plan(8, good)
	p.Cases[0].Workload.Window = 2 * time.Millisecond
	type slot struct{ build, round int }
	var slots []slot
	err = p.Run(t.Context(), func(at Progress) error {
		if at.Result == nil && at.Lost == nil {
			return nil
		}
		slots = append(slots, slot{at.Build, at.Round})
		if at.Done != len(slots) || at.Total != 16 || at.Result.Round != at.Round || at.Result.Lock.Name != good.Name {
			t.Errorf("%+v", at)
		}
		return nil
	}, builds...)
	requireNoError(t, err)
	first := 0
	var said strings.Builder
	for i := 0; i+1 < len(slots); i += 2 {
		a, b := slots[i], slots[i+1]
		if a.round != i/2 || b.round != i/2 || a.build+b.build != 1 {
			t.Errorf("runs %d and %d are %v and %v", i, i+1, a, b)
		}
		first += a.build
		fmt.Fprintf(&said, "%d\n%d\n", a.build, b.build)
	}
	if len(slots) != 16 || first == 0 || first == 8 {
		t.Errorf("%d runs; the second build came first in %d of 8 rounds", len(slots), first)
	}
	if text, err := os.ReadFile(log); err != nil || string(text) != said.String() {
		t.Errorf("the programs ran in the order %q, reported %q (%v)", text, said.String(), err)
	}

	stop := errors.New("enough")
	if err := p.Run(t.Context(), func(Progress) error { return stop }, builds...); !errors.Is(err, stop) {
		t.Errorf("%v, want the error of report", err)
	}
}

// onceEnv names a file. The process that creates it is the only one killed by kill-once.
const onceEnv = "LOCKLAB_TEST_ONCE"

// lethalLocks are locks that end their process in the tenth acquisition, each in another way.
var lethalLocks = []*harness.Variant{
	newLethalLock("panic", func() { panic(slowPanic{}) }),
	newLethalLock("nil", func() { var p *lethalLock; p.calls++ }),
	newLethalLock("stack", func() { debug.SetMaxStack(1 << 16); depth = deepStack(0) }),
	newLethalLock("exit-0", func() { os.Exit(0) }),
	newLethalLock("kill-always", func() { killSelf(syscall.SIGKILL) }),
	newLethalLock("abort", func() { killSelf(syscall.SIGABRT) }), // sent by a process, as from outside
	newLethalLock("kill-once", func() {
		if f, err := os.OpenFile(os.Getenv(onceEnv), os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			f.Close()
			killSelf(syscall.SIGKILL)
		}
	}),
}

func newLethalLock(name string, die func()) *harness.Variant {
	return localLock(name, harness.Traits{}, func() sync.Locker { return &lethalLock{die: die} })
}

func lethalLockNamed(name string) *harness.Variant {
	return lethalLocks[slices.IndexFunc(lethalLocks, func(v *harness.Variant) bool { return v.Name == name })]
}

type lethalLock struct {
	sync.Mutex
	calls int
	die   func()
}

func (l *lethalLock) Unlock() {
	if l.calls++; l.calls == 10 {
		l.die()
	}
	l.Mutex.Unlock()
}

// A slowPanic ends the process late: the runtime asks for its text while other goroutines run.
type slowPanic struct{}

func (slowPanic) Error() string {
	time.Sleep(10 * workload(1).Window)
	return "corrupted queue\nand \x1b[31m more"
}

var depth int // for a recursion that the compiler must not recognize as endless

func deepStack(n int) int {
	if n < 0 {
		return n
	}
	return deepStack(n+1) + n
}

func killSelf(sig syscall.Signal) {
	syscall.Kill(os.Getpid(), sig)
	select {}
}

func measureWith(t *testing.T, v *harness.Variant, exe string) Progress {
	t.Helper()
	p := plan(1, v)
	p.exe = exe
	return runPlan(t, p)[0]
}

// TestDeaths: a lock that ends its process has broken a promise, and is not tried again.
func TestDeaths(t *testing.T) {
	t.Setenv(onceEnv, filepath.Join(t.TempDir(), "once"))
	for _, c := range []struct{ name, detail, trace string }{
		{"panic", "panic: corrupted queue", "Unlock"},
		{"nil", "nil pointer dereference", "SIGSEGV"},
		{"stack", "fatal error: stack overflow", "stack overflow"},
		{"exit-0", "status 0", ""},
		{"kill-always", "", ""},
		{"abort", "", ""},
		{"kill-once", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := measureWith(t, lethalLockNamed(c.name), "")
			switch {
			case c.name == "kill-once":
				if at.Result == nil || len(at.Result.Violations) > 0 || at.Result.Ops == 0 || len(at.Result.Retries) != 1 || !strings.Contains(at.Result.Retries[0], "signal: killed") {
					t.Errorf("lost %v, result %v, want one of the second process that tells of the first", at.Lost, at.Result != nil)
				}
				return
			case c.detail == "":
				if at.Result != nil || at.Lost == nil || !strings.Contains(at.Lost.Error(), "the second try") {
					t.Errorf("lost %v, result %v, want a loss after two tries", at.Lost, at.Result != nil)
				}
				return
			case at.Result == nil || len(at.Result.Violations) != 1 || at.Result.Ops != 0 || len(at.Result.Retries) > 0:
				t.Fatalf("lost %v, result %+v, want one violation", at.Lost, at.Result)
			}
			v := at.Result.Violations[0]
			text := strings.Join(v.Trace, "\n")
			if v.Rule != "crash" || !strings.Contains(v.Detail, c.detail) || strings.ContainsAny(v.Detail, "\n\x1b") {
				t.Errorf("%+v, want one line of a crash with %q", v, c.detail)
			}
			if !strings.Contains(text, c.trace) || len(v.Trace) > traceLines || strings.Contains(text, "\x1b") || (c.trace == "") != (v.Trace == nil) {
				t.Errorf("the trace is\n%s\nwant %q in it", text, c.trace)
			}
		})
	}
}

// TestFate: only a lock's failures are charged to it; only a killed process is tried again.
func TestFate(t *testing.T) {
	const hear, lab, lock = "read -r spec; ", `echo '{"at":"calibration"}'; `, `echo '{"at":"calibration"}'; echo '{"at":"lock"}'; `
	for name, c := range map[string]struct {
		program string
		tries   int
		crash   bool
	}{
		"panic of an old build":       {hear + "echo 'panic: x' >&2; exit 2", 1, true},
		"error of an old build":       {hear + "echo 'measure: no server' >&2; exit 1", 1, false},
		"old build killed":            {hear + "kill -9 $$", 2, false},
		"panic of the lab":            {hear + lab + "echo 'panic: x' >&2; exit 2", 1, false},
		"no server":                   {hear + lock + `echo '{"failed":"redislock: connection refused"}'; exit 1`, 1, false},
		"panic of the lock":           {hear + lock + "echo 'panic: x' >&2; exit 2", 1, true},
		"more than can be kept":       {hear + lock + "echo 'panic: x' >&2; head -c 3000000 /dev/zero >&2; exit 2", 1, true},
		"a log, then a fatal error":   {hear + lock + "echo 'note' >&2; echo 'fatal error: x' >&2; exit 2", 1, true},
		"log.Fatal in the lock":       {hear + lock + "echo 'gave up' >&2; exit 1", 1, true},
		"killed":                      {hear + lock + "kill -9 $$", 2, false},
		"terminated":                  {hear + lock + "kill -15 $$", 2, false},
		"Ctrl-\\ in the terminal":     {hear + lock + "echo 'SIGQUIT: quit' >&2; echo 'PC=0x47 m=0 sigcode=128' >&2; exit 2", 2, false},
		"an abort sent to it":         {hear + lock + "echo 'SIGABRT: abort' >&2; echo 'PC=0x47 m=0 sigcode=0' >&2; exit 2", 2, false},
		"an abort raised in it":       {hear + lock + "echo 'SIGABRT: abort' >&2; echo 'PC=0x47 m=0 sigcode=18446744073709551610' >&2; exit 2", 1, true},
		"a fault, the runtime's core": {hear + lock + "kill -SEGV $$", 1, true},
		"no memory":                   {hear + lock + "echo 'fatal error: runtime: out of memory' >&2; exit 2", 2, false},
		"no threads":                  {hear + lock + "echo 'runtime: failed to create new OS thread (have 2 already; errno=11)' >&2; exit 2", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			at := measureWith(t, good, script(t, fmt.Sprintf("echo begun >> '%s'; %s", log, c.program)))
			text, err := os.ReadFile(log)
			if n := strings.Count(string(text), "begun"); err != nil || n != c.tries {
				t.Errorf("%d tries (%v), want %d", n, err, c.tries)
			}
			if c.crash != (at.Result != nil) || c.crash == (at.Lost != nil) {
				t.Fatalf("lost %v, result %v; want a crash: %v", at.Lost, at.Result != nil, c.crash)
			}
			if c.crash && (at.Result.Violations[0].Rule != "crash" || time.Since(at.Result.Started) > time.Minute) {
				t.Errorf("%+v", at.Result)
			}
		})
	}
}

// TestListener: told lines are found among others, whatever the pieces of the output.
func TestListener(t *testing.T) {
	const output = "a {\n\nb\n" + `{"at":"lock"}` + "\n{\"kind\":1}\nc\n" + `{"at":"work"}` + "\nd"
	for size := 1; size <= len(output); size++ {
		l := new(listener)
		for piece := range slices.Chunk([]byte(output), size) {
			if _, err := l.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.end(); got.At != atWork || string(got.answer) != "a {\n\nb\n{\"kind\":1}\nc\nd" {
			t.Errorf("pieces of %d bytes: at %q, answer %q", size, got.At, got.answer)
		}
	}
}
