package lab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := writeProgram(name, []byte("#!/bin/sh\n"+text+"\n")); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPassOn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"exit 0": 0, "exit 1": exitFailed, "exit 2": exitUsage, "exit 130": exitInterrupted, "kill -9 $$": exitFailed} {
		err := passOn(t.Context(), script(t, text))
		if got := program().status(err); got != want {
			t.Errorf("%s: %v is status %d, want %d", text, err, got, want)
		}
		if passed := new(passedOn); strings.HasPrefix(text, "exit 1") && !errors.As(err, passed) {
			t.Errorf("%s: the error %v would be printed", text, err)
		}
	}
	if err := passOn(t.Context(), "/nonexistent"); err == nil || program().status(err) != exitFailed {
		t.Errorf("without a program: %v", err)
	}
}

// TestPassOnInterrupt: an interrupt is passed on, and its exit status awaited.
func TestPassOnInterrupt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"trap 'exit 130' INT; touch $0.ready; while :; do sleep 0.01; done": passedOn(exitInterrupted),
		"touch $0.ready; exec sleep 600":                                    errInterrupted,
	} {
		exe := script(t, text)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(exe + ".ready"); err == nil {
					cancel()
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		err := passOn(ctx, exe)
		if !errors.Is(err, want) || program().status(err) != exitInterrupted {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestUnfit(t *testing.T) {
	t.Parallel()
	self := script(t, "exit 3")
	for _, c := range []struct {
		text string
		age  time.Duration
		want string
	}{
		{"echo 'simulates '", 0, ""},
		{"echo 'simulates '", time.Hour, "it is older than this program"},
		{"echo 'measures '", 0, "it was built without the tags"},
		{"echo hello", 0, "it was built without the tags"},
		{"exit 3", 0, "it does not start: exit status 3"},
	} {
		beside := script(t, c.text)
		at := time.Now().Add(-c.age)
		if err := os.Chtimes(beside, at, at); err != nil {
			t.Fatal(err)
		}
		if got := unfit(t.Context(), self, beside); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s, %v old: %q, want %q", c.text, c.age, got, c.want)
		}
	}
}

func TestUnlikeCommits(t *testing.T) {
	for _, c := range []struct{ other, own, want string }{
		{"0123456789ab", "0123456789abcdef", ""},
		{"0123456789ab+dirty", "0123456789abcdef+dirty", ""},
		{"0123456789ab", "", ""},
		{"", "0123456789ab", ""},
		{"0123456789ab", "0123456789abcdef+dirty", "it is of commit 0123456789ab, and this program of 0123456789ab+dirty"},
		{"0123456789abcdef", "0123456789ac", "it is of commit 0123456789ab, and this program of 0123456789ac"},
	} {
		if got := unlikeCommits(c.other, c.own); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.other, c.own, got, c.want)
		}
	}
}

// TestFindSource: the file of main, then the directories of the program and the user.
func TestFindSource(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	empty, command := t.TempDir(), filepath.Join(root, "cmd", "locklab")
	for _, c := range []struct {
		pkg, module, main string
		near              []string
		dir, argument     string // dir is "" if there is no source
	}{
		{"locklab/cmd/locklab", "locklab", filepath.Join(command, "main.go"), []string{root}, command, "."},
		{filesOnly, "locklab", filepath.Join(command, "main.go"), nil, command, "."},
		{"locklab/cmd/locklab", "locklab", "locklab/cmd/locklab/main.go", []string{empty, command}, command, "locklab/cmd/locklab"},
		{"locklab/cmd/locklab", "locklab", filepath.Join(empty, "main.go"), []string{empty, filepath.Join(empty, "none")}, "", ""},
		{filesOnly, "locklab", "", []string{root}, "", ""},
		{"example.org/x", "example.org/x", "", []string{root}, "", ""},
	} {
		info := &debug.BuildInfo{Path: c.pkg, Main: debug.Module{Path: c.module}}
		dir, pkg, err := findSource(t.Context(), tool, info, c.main, c.near...)
		if dir != c.dir || pkg != c.argument || (err == nil) != (dir != "") || err != nil && !strings.Contains(err.Error(), "the source of module "+c.module+" is neither") {
			t.Errorf("%+v: %q, %q, %v", c, dir, pkg, err)
		}
	}
}

// TestSimulateFromSource: the go command replaces an unfit build; an error is one line.
func TestSimulateFromSource(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "locklab")
	if text, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", exe, "../cmd/locklab").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := writeProgram(exe+simulateSuffix, []byte("#!/bin/sh\necho hello\n")); err != nil {
		t.Fatal(err)
	}
	run := func(dir string, env ...string) (stdout, stderr string, status int) {
		cmd := locklab(t, "simulate", "--machine", "skylake-24", "--locks", "mcs", "--workers", "1,4")
		cmd.Path, cmd.Dir, cmd.Env = exe, dir, append(cmd.Env, append(env, "TMPDIR="+t.TempDir())...)
		stdout, stderr, status = output(t, cmd)
		if left, err := os.ReadDir(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR=")); err != nil || len(left) > 0 {
			t.Errorf("it leaves %v, %v", left, err)
		}
		return stdout, stderr, status
	}
	why := exe + simulateSuffix + " is not used: it was built without the tags"
	if stdout, stderr, status := run("."); status != 0 || !strings.Contains(stderr, why) || !strings.Contains(stdout, "\nmcs ") {
		t.Errorf("in the module: status %d, said %q, printed\n%s", status, stderr, stdout)
	}
	for want, c := range map[string][]string{
		"the source of module locklab is neither": {t.TempDir(), "A=1"},
		"nosuch": {".", "GOARCH=nosuch"},
	} {
		if stdout, stderr, status := run(c[0], c[1]); status != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, why) || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, said %q, printed %q", want, status, stderr, stdout)
		}
	}
}
