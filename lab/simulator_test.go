package lab

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripted starts a shell script in place of the build that simulates.
func scripted(t *testing.T, ctx context.Context, text string) (*simulator, error) {
	t.Helper()
	return startSimulator(ctx, exec.Command("sh", "-c", text))
}

// TestSimulatorEnds: an error has the lock, the exit status and the last words of the process.
func TestSimulatorEnds(t *testing.T) {
	t.Parallel()
	for text, wants := range map[string][]string{
		"exit 2":                                {"exit status 2"},
		"echo no such flag >&2; exit 2":         {"exit status 2: no such flag"},
		`echo '{}'; read x; exit 0`:             {"mcs with 0 workers", "unexpected EOF"},
		`echo '{}'; read x; echo y >&2; exit 3`: {"mcs with 0 workers", "exit status 3: y"},
	} {
		s, err := scripted(t, t.Context(), text)
		if err == nil {
			_, err = s.ask(simulateRequest{Lock: "mcs"})
		}
		for _, want := range wants {
			if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want an error with %q", text, err, want)
			}
		}
	}
	if _, err := startSimulator(t.Context(), exec.Command("/nonexistent")); err == nil {
		t.Error("a program that does not exist is started")
	}
}

// TestSimulatorStops: a simulation ends with its context.
func TestSimulatorStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := scripted(t, ctx, `echo '{}'; exec sleep 600`)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	failed, err := s.runCases(ctx, t.Output(), "simulate", []simulatedCase{{lock: program().spinLocks()[0]}}, nil)
	if failed > 0 || err != nil {
		t.Errorf("%d failed, %v", failed, err)
	}
}

// TestOnlyAskedToServe: a build that measures does not simulate.
func TestOnlyAskedToServe(t *testing.T) {
	t.Parallel()
	if stdout, stderr, status := output(t, locklab(t, "simulate", "--"+serveFlag)); status != exitUsage || stdout != "" || !strings.Contains(stderr, "only answers requests") {
		t.Errorf("status %d, printed %q and %q", status, stdout, stderr)
	}
}

// TestSimulatorOf: the source is near the main function or in the working directory.
func TestSimulatorOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for main, want := range map[string]string{filepath.Join(dir, "main.go"): "go run -tags systematic,simulate . in " + dir, "locklab/cmd/main.go": "locklab/lab.test in .: "} {
		p := program()
		p.mainFile = main
		if s, err := p.openSimulator(t.Context(), t.Output()); s != nil || !errors.Is(err, errNoBuild) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", main, err, want)
		}
	}
}
