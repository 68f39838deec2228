package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"locklab/harness/simulate"
	"locklab/internal/child"
)

const (
	simulateTags = "systematic,simulate" // of the build that simulates
	homeVariable = "LOCKLAB_SIMULATE_IN" // the working directory of that build
)

var (
	errNoBuild    = errors.New("the build of this program that simulates is missing")
	errOtherBuild = usage("the build with the tags %s only runs simulate for the usual build, and no other build does", simulateTags)
)

func enterBuild() error {
	home := os.Getenv(homeVariable)
	if (home != "") != simulate.Simulates {
		return errOtherBuild
	}
	if home == "" {
		return nil
	}
	return os.Chdir(home)
}

// rerun runs this command by the build that simulates. The go command makes it from the source
// in the directory of the main function's file, or else in the module of the working directory.
func (p *Program) rerun(ctx context.Context, stdout, stderr io.Writer) error {
	dir, pkg := filepath.Dir(p.mainFile), "."
	if !filepath.IsAbs(dir) {
		info, _ := debug.ReadBuildInfo() // the go command makes programs with it
		dir, pkg = ".", cmp.Or(info, new(debug.BuildInfo)).Path
	}
	home, err := os.Getwd()
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "locklab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	exe := filepath.Join(temporary, p.Name)
	build := exec.CommandContext(ctx, "go", "build", "-tags", simulateTags, "-o", exe, pkg)
	build.Dir = dir
	slow := time.AfterFunc(5*time.Second, func() {
		fmt.Fprintln(stderr, "building the program that simulates: half a minute the first time")
	})
	text, err := build.CombinedOutput()
	slow.Stop()
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return usage("%w: go build -tags %s %s in %s: %w: %s", errNoBuild, simulateTags, pkg, dir, err, child.LastWords(string(text)))
	}
	cmd := exec.Command(exe, os.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), homeVariable+"="+home), stdout, stderr
	return runSimulator(ctx, cmd)
}

// runSimulator returns the exit status of cmd, which an end of ctx interrupts.
func runSimulator(ctx context.Context, cmd *exec.Cmd) error {
	c, err := child.Start(cmd)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Signal(os.Interrupt) })() // it may have ended
	err = c.Err()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() {
		return statusError{exit.ExitCode(), err.Error()}
	}
	return err
}
