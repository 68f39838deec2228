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

// simulateElsewhere runs the command of this process in the simulating build, with more
// flags.
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
// of the same build, or else a file made by the go command, which the caller removes.
func (p *Program) simulator(ctx context.Context, stderr io.Writer) (exe string, remove func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	beside := simulatorOf(self)
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
	remove = func() { os.RemoveAll(dir) }
	exe = filepath.Join(dir, filepath.Base(beside))
	s := p.source(self)
	note, err := s.build(ctx, exe, stderr)
	switch {
	case err == nil:
		if note != "" {
			reasons = append(reasons, note)
		}
		for _, text := range reasons {
			fmt.Fprintln(stderr, text)
		}
		return exe, remove, nil
	case ctx.Err() != nil:
		err = errInterrupted
	default:
		reasons = append(reasons, err.Error())
		err = fmt.Errorf("%w: %w (%s); make it by: go build -tags %s -o %s %s", harness.ErrUsage, errNoBuild, strings.Join(reasons, "; "), simulateTags, quoted(beside), s.argument())
	}
	remove()
	return "", nil, err
}

func simulatorOf(exe string) string {
	base, windows := strings.CutSuffix(exe, ".exe")
	if windows {
		return base + simulateSuffix + ".exe"
	}
	return exe + simulateSuffix
}

func quoted(word string) string {
	if strings.ContainsAny(word, " \t\n'\"\\$&;|<>*?()`#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
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

// simulatesAt returns the commit of a program that simulates; "" is unknown.
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

// A sourceCode is the origin of this program. Its zero values are unknown.
type sourceCode struct {
	pkg, module string   // import path of package main, and path of its module
	main        string   // file of package main, as given to the compiler
	near        []string // directories that may be in the module
	trimmed     bool     // built with -trimpath: the other build then shares compiled packages
}

// filesOnly is the import path of a program that was built from files.
const filesOnly = "command-line-arguments"

func (p *Program) source(exe string) sourceCode {
	s := sourceCode{main: p.mainFile, near: []string{filepath.Dir(exe)}}
	if dir, err := os.Getwd(); err == nil {
		s.near = append(s.near, dir)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		s.pkg, s.module = info.Path, info.Main.Path
		s.trimmed = slices.Contains(info.Settings, debug.BuildSetting{Key: "-trimpath", Value: "true"})
	}
	return s
}

// argument is the package for go build in the module.
func (s sourceCode) argument() string {
	if s.pkg == "" || s.pkg == filesOnly {
		return "."
	}
	return s.pkg
}

// find returns a directory of the module, and the package to build there.
func (s sourceCode) find(ctx context.Context, tool string) (dir, pkg string, err error) {
	if s.module == "" {
		return "", "", errors.New("this program has no record of the module that it was built from")
	}
	has := func(dir string) bool {
		cmd := exec.CommandContext(ctx, tool, "list", "-m")
		cmd.Dir = dir
		text, err := cmd.Output()
		return err == nil && slices.Contains(strings.Fields(string(text)), s.module)
	}
	if dir := filepath.Dir(s.main); filepath.IsAbs(dir) && has(dir) {
		return dir, ".", nil
	}
	for _, dir := range s.near {
		if s.pkg != filesOnly && has(dir) {
			return dir, s.pkg, nil
		}
	}
	return "", "", fmt.Errorf("the source of module %s is neither where this program is nor where it runs", s.module)
}

// build makes the simulating build as the file out. The note is "", or a difference of its
// source from this program.
func (s sourceCode) build(ctx context.Context, out string, stderr io.Writer) (note string, err error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("no go command is on PATH to build it")
	}
	dir, pkg, err := s.find(ctx, tool)
	if err != nil {
		return "", err
	}
	slow := time.AfterFunc(5*time.Second, func() {
		fmt.Fprintln(stderr, "building the program that simulates: half a minute the first time")
	})
	defer slow.Stop()
	args := []string{"build", "-tags", simulateTags, "-o", out}
	if s.trimmed {
		args = append(args, "-trimpath")
	}
	cmd := exec.CommandContext(ctx, tool, append(args, pkg)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in %s failed: %s", dir, child.LastWords(string(text)))
	}
	commit, err := simulatesAt(ctx, out)
	if err != nil {
		return "", fmt.Errorf("the program built in %s is not used: %w", dir, err)
	}
	if why := unlikeCommits(commit, machine.BuildCommit()); why != "" {
		return fmt.Sprintf("simulated by the source in %s: %s", dir, why), nil
	}
	return "", nil
}
