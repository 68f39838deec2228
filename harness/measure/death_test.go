package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
)

// onceEnv names a file. The process that creates it is the only one killed by kill-once.
const onceEnv = "LOCKLAB_TEST_ONCE"

// mortals are locks that end their process in the tenth acquisition, each in another way.
var mortals = []*harness.Variant{
	mortal("panic", func() { panic(slowPanic{}) }),
	mortal("nil", func() { var p *mortalLock; p.calls++ }),
	mortal("stack", func() { debug.SetMaxStack(1 << 16); depth = deep(0) }),
	mortal("exit-0", func() { os.Exit(0) }),
	mortal("kill-always", func() { kill(syscall.SIGKILL) }),
	mortal("abort", func() { kill(syscall.SIGABRT) }), // sent by a process, as from outside
	mortal("kill-once", func() {
		if f, err := os.OpenFile(os.Getenv(onceEnv), os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			f.Close()
			kill(syscall.SIGKILL)
		}
	}),
}

func mortal(name string, die func()) *harness.Variant {
	return localLock(name, harness.Traits{}, func() sync.Locker { return &mortalLock{die: die} })
}

func mortalNamed(name string) *harness.Variant {
	return mortals[slices.IndexFunc(mortals, func(v *harness.Variant) bool { return v.Name == name })]
}

type mortalLock struct {
	sync.Mutex
	calls int
	die   func()
}

func (l *mortalLock) Unlock() {
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

func deep(n int) int {
	if n < 0 {
		return n
	}
	return deep(n+1) + n
}

func kill(sig syscall.Signal) {
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
			at := measureWith(t, mortalNamed(c.name), "")
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
		if got := l.end(); got.at != atWork || string(got.answer) != "a {\n\nb\n{\"kind\":1}\nc\nd" {
			t.Errorf("pieces of %d bytes: at %q, answer %q", size, got.at, got.answer)
		}
	}
}
