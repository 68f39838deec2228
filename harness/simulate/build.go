package simulate

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"locklab/internal/child"
)

// BuildTags are the build tags of a simulating build.
const BuildTags = "systematic,simulate"

// A BuildSource is the origin of a program, if known.
type BuildSource struct {
	Package string // import path of its package main
	Module  string // path of its module
	File    string // a file of package main, as given to the compiler
	Trimmed bool   // built with -trimpath: the other build uses it too, to share compiled packages

	// Near are directories that may be at or below the module: the program's and the
	// working directory.
	Near []string
}

// BuildSourceOf returns the source of the running program; file is a file of its package main
// as given to the compiler, or "".
func BuildSourceOf(file, exe string) BuildSource {
	s := BuildSource{File: file, Near: []string{filepath.Dir(exe)}}
	if dir, err := os.Getwd(); err == nil {
		s.Near = append(s.Near, dir)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		s.Package, s.Module = info.Path, info.Main.Path
		s.Trimmed = slices.Contains(info.Settings, debug.BuildSetting{Key: "-trimpath", Value: "true"})
	}
	return s
}

// unnamed is the import path of a program that was built from files.
const unnamed = "command-line-arguments"

func (s BuildSource) command(out string) string {
	what := s.Package
	if what == "" || what == unnamed {
		what = "."
	}
	return fmt.Sprintf("go build -tags %s -o %s %s", BuildTags, quoted(out), what)
}

func quoted(word string) string {
	if strings.ContainsAny(word, " \t\n'\"\\$&;|<>*?()`#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

func (s BuildSource) find() (dir, what string, err error) {
	if s.Module == "" {
		return "", "", errors.New("this program does not know the module that it was built from")
	}
	if file := absolute(s.File); file != "" && moduleOf(filepath.Dir(file)) == s.Module {
		return filepath.Dir(file), ".", nil
	}
	for _, near := range s.Near {
		for dir := near; ; dir = filepath.Dir(dir) {
			if moduleIn(dir) == s.Module && s.Package != unnamed {
				return dir, s.Package, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", "", fmt.Errorf("the source of module %s is neither where this program is nor where it runs", s.Module)
}

func moduleOf(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if path := moduleIn(dir); path != "" || dir == filepath.Dir(dir) {
			return path
		}
	}
}

func moduleIn(dir string) string {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == "module" {
			return strings.Trim(words[1], "\"`")
		}
	}
	return ""
}

func (p BuildProgram) build(ctx context.Context) (string, error) {
	dir, what, err := p.Source.find()
	if err != nil {
		return "", err
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("no go command is on PATH to build it")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory to build it into: %w", err)
	}
	key := sha256.Sum256([]byte(dir + "\x00" + what))
	cache = filepath.Join(cache, "locklab", fmt.Sprintf("simulate-%x", key[:8]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("no cache directory to build it into: %w", err)
	}
	out := filepath.Join(cache, filepath.Base(sibling(p.Exe)))
	if err := p.compile(ctx, tool, dir, what, out); err != nil {
		return "", err
	}
	h, err := greet(ctx, out)
	if err != nil {
		return "", err
	}
	if why := p.unable(h); why != "" {
		return "", fmt.Errorf("what the source in %s gives is not used: %s", dir, why)
	}
	if why := p.unfit(h); why != "" {
		p.Say(fmt.Sprintf("simulated by the source in %s: %s", dir, why))
	}
	return out, nil
}

// compile builds what in dir as the file out, unless it is up to date. Only one process
// at a time does so.
func (p BuildProgram) compile(ctx context.Context, tool, dir, what, out string) error {
	guard, err := os.OpenFile(out+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := lockFile(ctx, guard); err != nil {
		return err
	}
	if _, err := os.Stat(out); err != nil {
		p.Say("the build that simulates is made once: half a minute of compiling")
	}
	args := []string{"build", "-tags", BuildTags, "-o", out}
	if p.Source.Trimmed {
		args = append(args, "-trimpath")
	}
	cmd := exec.CommandContext(ctx, tool, append(args, what)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("go build in %s failed: %s", dir, child.LastWords(string(text)))
	}
	return nil
}
