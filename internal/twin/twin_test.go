package twin

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/child"
	"locklab/internal/leaktest"
	"locklab/internal/require"
)

var tryCompiler = sync.OnceValue(func() error {
	tw, err := Start(context.Background(), CoreToCore)
	if err != nil {
		return err
	}
	return tw.Close()
})

func needCompiler(t *testing.T) {
	t.Helper()
	if err := tryCompiler(); errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func startTwin(t *testing.T, p *Program) *Twin {
	t.Helper()
	needCompiler(t)
	tw, err := Start(t.Context(), p)
	if errors.Is(err, ErrNoHeader) {
		t.Skip(err)
	}
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, tw.Close()) })
	return tw
}

var programs = []*Program{CoreToCore, Locks, ConcurrencyKit}

// TestPrograms: each source is a program, which TestCases runs.
func TestPrograms(t *testing.T) {
	var files []string
	for _, p := range programs {
		files = append(files, "c/"+p.File)
	}
	slices.Sort(files)
	if all, err := fs.Glob(sources, "c/*.c"); err != nil || !slices.Equal(files, all) {
		t.Errorf("the sources are %q, %v, and the programs have %q", all, err, files)
	}
}

func TestCases(t *testing.T) {
	for _, p := range programs {
		t.Run(p.Topic, func(t *testing.T) {
			tw := startTwin(t, p)
			for _, name := range p.Cases {
				r, err := tw.Run(t.Context(), name, []int{Unbound, Unbound}, time.Millisecond)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if ns := r.NsPerOp(); !(ns > 0) || math.IsInf(ns, 0) {
					t.Errorf("%s: %+v, %v ns for an operation", name, r, ns)
				}
				// A thread that passes the word on waits until it comes back.
				if p == CoreToCore && r.Ops[0] != r.Ops[1] {
					t.Errorf("%s: %+v", name, r)
				}
			}
		})
	}
}

func TestNoHeader(t *testing.T) {
	needCompiler(t)
	p := *ConcurrencyKit
	p.Needs = "no-such-header.h: install nothing"
	_, err := start(t.Context(), &p, "-DTWIN_H") // hides twin.h
	if !errors.Is(err, ErrNoHeader) || !strings.Contains(err.Error(), "install nothing") {
		t.Errorf("error is %v", err)
	}
}

func TestRejectedCommands(t *testing.T) {
	tw := startTwin(t, CoreToCore)
	two := []int{Unbound, Unbound}
	for _, test := range []struct {
		name string
		cpus []int
		span time.Duration
		want string
	}{
		{"none", two, time.Millisecond, "no case none"},
		{"cas-spin", two[:1], time.Millisecond, "2 to 2 CPUs"},
		{"cas-spin", nil, time.Millisecond, "2 to 2 CPUs"},
		{"cas-spin", make([]int, 300), time.Millisecond, "2 to 2 CPUs"},
		{"cas-spin", []int{0, 1 << 19}, time.Millisecond, "cannot bind a thread to CPU 524288"},
		{"cas-spin", []int{0, -7}, time.Millisecond, "2 to 2 CPUs"},
		{"cas-spin", two, 0, "1 to 60000 milliseconds"},
		{"cas-spin", two, time.Hour, "1 to 60000 milliseconds"},
	} {
		if _, err := tw.Run(t.Context(), test.name, test.cpus, test.span); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s on %d CPUs for %v: error is %v, want %q", test.name, len(test.cpus), test.span, err, test.want)
		}
	}
	if _, err := tw.ask(t.Context(), "sing"); err == nil || !strings.Contains(err.Error(), "the only command is run") {
		t.Errorf("error is %v", err)
	}
	if _, err := tw.Run(t.Context(), "cas-spin", two, time.Millisecond); err != nil {
		t.Errorf("after bad commands: %v", err)
	}
}

func TestParseReading(t *testing.T) {
	if r, err := parseReading([]string{"120", "3", "1"}, 2); err != nil || r.Elapsed != 120 || r.NsPerOp() != 30 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, words := range [][]string{{}, {"120"}, {"120", "3"}, {"120", "3", "1", "1"}, {"0", "3", "1"}, {"x", "3", "1"}, {"120", "3", "-1"}} {
		if r, err := parseReading(words, 2); err == nil {
			t.Errorf("%q is %+v", words, r)
		}
	}
}

func TestNoCompiler(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "cc")
	requireNoError(t, os.WriteFile(broken, []byte("#!/bin/sh\necho stdio.h is missing >&2\nexit 1\n"), 0o700))
	for cc, want := range map[string]string{"no-such-compiler": "install gcc or clang", broken: "stdio.h is missing"} {
		t.Setenv("CC", cc+" -m64")
		if _, err := Start(t.Context(), CoreToCore); !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), want) {
			t.Errorf("CC=%s: error is %v, want %q", cc, err, want)
		}
	}
}

func TestBrokenSource(t *testing.T) {
	needCompiler(t)
	_, err := start(t.Context(), CoreToCore, "-DTWIN_H") // hides twin.h
	if err == nil || errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "core_to_core.c") {
		t.Errorf("error is %v", err)
	}
}

func TestWrongProgram(t *testing.T) {
	needCompiler(t)
	p := *CoreToCore
	p.Cases = []string{"other"}
	if _, err := Start(t.Context(), &p); err == nil || !strings.Contains(err.Error(), `want "twin 1 core-to-core other"`) {
		t.Errorf("error is %v", err)
	}
}

func TestLeavesNothing(t *testing.T) {
	needCompiler(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if p, err := child.Start(exec.Command("true")); err == nil { // the spawning goroutine stays
		<-p.Done()
	}
	leaktest.All(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tw, err := Start(ctx, CoreToCore)
	requireNoError(t, err)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("while it runs: %v, %v", left, err)
	}
	for range 2 {
		requireNoError(t, tw.Close())
	}
	select {
	case <-tw.child.Done():
	default:
		t.Error("the child was not waited for")
	}
	if _, err := tw.ask(t.Context(), "run"); !errors.Is(err, ErrEnded) {
		t.Errorf("after Close: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("after Close: %v, %v", left, err)
	}
}

func TestContexts(t *testing.T) {
	needCompiler(t)
	for _, name := range []string{"of Start", "of Run"} {
		begin, cancelStart := context.WithCancel(t.Context())
		defer cancelStart()
		run, cancelRun := context.WithCancel(t.Context())
		defer cancelRun()
		tw, err := Start(begin, CoreToCore)
		requireNoError(t, err)
		want, end := ErrEnded, cancelStart
		if name == "of Run" {
			want, end = context.Canceled, cancelRun
		}
		time.AfterFunc(20*time.Millisecond, end)
		if _, err := tw.Run(run, "cas-spin", []int{Unbound, Unbound}, time.Minute); !errors.Is(err, want) {
			t.Errorf("context %s: error is %v, want %v", name, err, want)
		}
		requireNoError(t, tw.Close())
	}
}

func TestCompilerWarnsOfNothing(t *testing.T) {
	needCompiler(t)
	for _, p := range programs {
		tw, err := start(t.Context(), p, "-O1", "-Wall", "-Wextra", "-Werror")
		switch {
		case errors.Is(err, ErrNoHeader): // TestCases reports it
		case err != nil:
			t.Error(err)
		default:
			requireNoError(t, tw.Close())
		}
	}
}

var requireNoError = require.NoError
