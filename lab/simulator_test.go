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

// TestSimulatorEnds: both builds end with the same exit status.
func TestSimulatorEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"exit 0": 0, "exit 3": exitUnfit, "kill -9 $$": exitFailed} {
		if status := program().status(runSimulator(t.Context(), exec.Command("sh", "-c", text)), t.Output()); status != want {
			t.Errorf("%s: status %d, want %d", text, status, want)
		}
	}
	if runSimulator(t.Context(), exec.Command("/nonexistent")) == nil {
		t.Error("a program that does not exist is started")
	}
}

// TestSimulatorStops: the end of the context interrupts the simulation.
func TestSimulatorStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := runSimulator(ctx, exec.Command("sleep", "600")); err == nil || ctx.Err() == nil {
		t.Errorf("it ended with %v before its context", err)
	}
}

// TestOtherBuild: a build that measures does not simulate.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	cmd := locklab(t, "simulate", "--list")
	cmd.Env = append(cmd.Env, homeVariable+"="+cmd.Dir)
	requireRefusal(t, cmd, "only runs simulate for the usual build")
}

// TestSimulatorOf: the source is near the main function or in the working directory.
func TestSimulatorOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for main, want := range map[string]string{filepath.Join(dir, "main.go"): "go build -tags systematic,simulate . in " + dir, "locklab/cmd/main.go": "locklab/lab.test in .: "} {
		p := program()
		p.mainFile = main
		if err := p.rerun(t.Context(), t.Output(), t.Output()); !errors.Is(err, errNoBuild) || !strings.Contains(err.Error(), want) {
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
