package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/internal/child"
	"locklab/internal/machine"
)

// The build that simulates.
const (
	simulateTags   = "systematic,simulate"
	simulateSuffix = "-simulate" // of its file, before .exe
	tellFlag       = "tell-build"
	addedFlag      = "added"
	dirty          = "+dirty" // suffix of the commit of a changed source
)

var (
	errNoBuild       = errors.New("the build of this program that simulates is missing")
	errOnlySimulates = fmt.Errorf("%w: this build only simulates, for the command simulate of the one without the tags %s: run that", harness.ErrUsage, simulateTags)
)

// A passedOn is the exit status of the simulating build, which has printed the reason.
type passedOn int

func (s passedOn) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// thisBuild returns the kind and the commit of this build, as --tell-build prints them.
func thisBuild() string {
	if simulate.Simulates {
		return simulateKind + machine.BuildCommit()
	}
	return "measures " + machine.BuildCommit()
}

const simulateKind = "simulates "

func (p *Program) simulateElsewhere(ctx context.Context, stderr io.Writer, more ...string) error {
	exe, remove, err := p.simulator(ctx, stderr)
	if err != nil {
		return err
	}
	defer remove()
	return passOn(ctx, exe, more...)
}

// passOn runs exe with the arguments of this process and more, and its input and output.
// The error is nil, a passedOn, or errInterrupted. If ctx ends, exe gets an interrupt.
func passOn(ctx context.Context, exe string, more ...string) error {
	more = append(more, fmt.Sprintf("--%s=%d", addedFlag, len(more)+1))
	cmd := exec.Command(exe, slices.Concat(os.Args[1:], more)...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	c, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		if c.Signal(os.Interrupt) != nil {
			c.Kill()
		}
	})
	defer stop()
	err = c.Err()
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return passedOn(exit.ExitCode())
	case ctx.Err() != nil:
		return errInterrupted
	}
	return fmt.Errorf("lab: the program that simulates ended: %w", err)
}

// simulator returns the simulating build of this program: the file next to it, if that is
// of the same build, or else a file made by the go command. The caller calls remove.
func (p *Program) simulator(ctx context.Context, stderr io.Writer) (exe string, remove func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	beside, windows := strings.CutSuffix(self, ".exe")
	if beside += simulateSuffix; windows {
		beside += ".exe"
	}
	var reasons []string
	if _, err := os.Stat(beside); err == nil {
		why := unfit(ctx, self, beside)
		if why == "" {
			return beside, func() {}, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s is not used: %s", beside, why))
	}
	dir, err := os.MkdirTemp("", "locklab-simulate-")
	if err != nil {
		return "", nil, err
	}
	exe, remove = filepath.Join(dir, filepath.Base(beside)), func() { os.RemoveAll(dir) }
	note, err := p.build(ctx, self, exe, stderr)
	if err == nil {
		for _, text := range append(reasons, note...) {
			fmt.Fprintln(stderr, text)
		}
		return exe, remove, nil
	}
	remove()
	if ctx.Err() != nil {
		return "", nil, errInterrupted
	}
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != filesOnly {
		pkg = info.Path
	}
	quoted := "'" + strings.ReplaceAll(beside, "'", `'\''`) + "'"
	return "", nil, fmt.Errorf("%w: %w (%s); make it by: go build -tags %s -o %s %s", harness.ErrUsage, errNoBuild, strings.Join(append(reasons, err.Error()), "; "), simulateTags, quoted, pkg)
}

// unfit returns the reason why beside is not the simulating build of the program self, or
// "". If no commit identifies the source, beside must not be older.
func unfit(ctx context.Context, self, beside string) string {
	commit, err := simulatesAt(ctx, beside)
	if err != nil {
		return err.Error()
	}
	own := machine.BuildCommit()
	if why := unlikeCommits(commit, own); why != "" {
		return why
	}
	a, e1 := os.Stat(self)
	b, e2 := os.Stat(beside)
	if own == "" || commit == "" || strings.HasSuffix(own, dirty) {
		if e1 != nil || e2 != nil || b.ModTime().Before(a.ModTime()) {
			return "it is older than this program"
		}
	}
	return ""
}

func simulatesAt(ctx context.Context, exe string) (commit string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, exe, "simulate", "--"+tellFlag).Output()
	if err != nil {
		return "", fmt.Errorf("it does not start: %w", err)
	}
	commit, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), simulateKind)
	if !ok {
		return "", errors.New("it was built without the tags systematic and simulate")
	}
	return commit, nil
}

// unlikeCommits returns the reason why two programs, the other and this one, are of
// different commits, or "". One may be shortened, and "" is unknown.
func unlikeCommits(other, own string) string {
	x, xd := strings.CutSuffix(other, dirty)
	y, yd := strings.CutSuffix(own, dirty)
	if x == "" || y == "" || xd == yd && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
		return ""
	}
	return fmt.Sprintf("it is of commit %.12s%s, and this program of %.12s%s", x, other[len(x):], y, own[len(y):])
}

const filesOnly = "command-line-arguments"

// findSource returns a directory of info's module and the package to build, by the file main
// of its main function and the directories near.
func findSource(ctx context.Context, tool string, info *debug.BuildInfo, main string, near ...string) (dir, pkg string, err error) {
	has := func(dir string) bool {
		cmd := exec.CommandContext(ctx, tool, "list", "-m")
		cmd.Dir = dir
		text, err := cmd.Output()
		return err == nil && slices.Contains(strings.Fields(string(text)), info.Main.Path)
	}
	if dir := filepath.Dir(main); filepath.IsAbs(dir) && has(dir) {
		return dir, ".", nil
	}
	for _, dir := range near {
		if info.Path != filesOnly && has(dir) {
			return dir, info.Path, nil
		}
	}
	return "", "", fmt.Errorf("the source of module %s is neither where this program is nor where it runs", info.Main.Path)
}

// build makes the simulating build of self as out; a note is a difference of the source.
func (p *Program) build(ctx context.Context, self, out string, stderr io.Writer) (note []string, err error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, errors.New("no go command is on PATH to build it")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return nil, errors.New("this program has no record of the module that it was built from")
	}
	working, _ := os.Getwd() // "" has the same effect
	dir, pkg, err := findSource(ctx, tool, info, p.mainFile, filepath.Dir(self), working)
	if err != nil {
		return nil, err
	}
	slow := time.AfterFunc(5*time.Second, func() {
		fmt.Fprintln(stderr, "building the program that simulates: half a minute the first time")
	})
	defer slow.Stop()
	args := []string{"build", "-tags", simulateTags, "-o", out}
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-trimpath", Value: "true"}) {
		args = append(args, "-trimpath") // to share compiled packages
	}
	cmd := exec.CommandContext(ctx, tool, append(args, pkg)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build in %s failed: %s", dir, child.LastWords(string(text)))
	}
	commit, err := simulatesAt(ctx, out)
	if err != nil {
		return nil, fmt.Errorf("the program built in %s is not used: %w", dir, err)
	}
	if why := unlikeCommits(commit, machine.BuildCommit()); why != "" {
		note = []string{fmt.Sprintf("simulated by the source in %s: %s", dir, why)}
	}
	return note, nil
}
