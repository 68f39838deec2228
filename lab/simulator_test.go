package lab

import (
	"context"
	"errors"
	"locklab/harness/simulate"
	"os/exec"
	"path/filepath"
	"slices"
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
	failed, err := s.runCases(ctx, t.Output(), []simulateRequest{{Lock: "mcs"}}, nil)
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

func TestWorkerCounts(t *testing.T) {
	two := &simulate.Machine{Sockets: 2, Clusters: 1, Cores: 22, SMT: 2} // 88 threads
	for text, want := range map[string][]int{
		"":         {1, 2, 4, 8, 16, 22, 32, 44, 64},
		"1..":      {1, 2, 4, 8, 16, 22, 32, 44, 64, 88},
		"3..20":    {3, 4, 8, 16, 20},
		"5":        {5},
		"8,2,1..4": {1, 2, 4, 8},
		"1..256":   {1, 2, 4, 8, 16, 22, 32, 44, 64, 88, 128, 256}, // rejected later, with the reason
	} {
		got, err := workerCounts(text, two)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}
