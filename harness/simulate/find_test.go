//go:build !systematic

package simulate

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type house struct {
	t            *testing.T
	source, home string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	h := &house{t, t.TempDir(), t.TempDir()}
	h.copy("testdata/program/main.go", "main.go")
	h.copy("../../go.sum", "go.sum")
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	h.write("go.mod", "module example.org/prog\n\ngo 1.26\n\nrequire locklab v0.0.0\n\nreplace locklab => "+tree+"\n")
	return h
}

func (h *house) copy(from, to string) {
	h.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(to, string(text))
}

func (h *house) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.source, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// environment has no network, and the house's cache directory for the builds of [Find];
// the compiler's cache stays the user's.
func (h *house) environment(more ...string) []string {
	h.t.Helper()
	gocache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off",
		"GOCACHE="+strings.TrimSpace(string(gocache)), "XDG_CACHE_HOME="+filepath.Join(h.home, "cache"))
	return append(env, more...)
}

func (h *house) build(out string, more ...string) string {
	h.t.Helper()
	out = filepath.Join(h.home, out)
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, more...), ".")...)
	cmd.Dir, cmd.Env = h.source, h.environment()
	if text, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, text)
	}
	return out
}

func (h *house) run(dir, exe string, env ...string) (found, figure, said string, status int) {
	h.t.Helper()
	cmd := exec.Command(exe)
	cmd.Dir, cmd.Env = dir, h.environment(env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	found, figure, _ = strings.Cut(stdout.String(), "\n")
	return found, strings.TrimSpace(figure), stderr.String(), cmd.ProcessState.ExitCode()
}

func linked(normal, other string) string {
	return "-ldflags=-X main.commit=" + normal + " -X locklab/internal/machine.commit=" + other
}

const noGo = "PATH=/nonexistent"

// TestFind tries all places of the other build, in the order in which a user meets them.
func TestFind(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	h := newHouse(t)
	exe := h.build("prog", linked("aaaaaaaaaaaa", ""))
	elsewhere := t.TempDir()

	_, _, said, status := h.run(elsewhere, exe, noGo)
	want := "go build -tags systematic,simulate -o " + exe + "-simulate example.org/prog"
	if status != 2 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "no go command") || !strings.Contains(said, want) {
		t.Errorf("without a go command: status %d, said %q; want %q", status, said, want)
	}

	made, figure, said, status := h.run(elsewhere, exe)
	if status != 0 || !strings.HasPrefix(made, h.home+"/cache/locklab/simulate-") || figure == "" || !strings.Contains(said, "made once") {
		t.Fatalf("with a go command: status %d, found %q, %q, said %q", status, made, figure, said)
	}
	again, same, said, status := h.run(elsewhere, exe)
	if status != 0 || again != made || same != figure || said != "" {
		t.Errorf("the second time: status %d, found %q, %q, said %q; want %q, %q", status, again, same, said, made, figure)
	}
	hooks(t, exe, false)
	hooks(t, made, true)

	h.build("prog-simulate", "-tags", BuildTags, linked("", "aaaaaaaaaaaabbbb"))
	if found, _, said, status := h.run(elsewhere, exe, noGo); status != 0 || found != exe+"-simulate" || said != "" {
		t.Errorf("beside the program: status %d, found %q, said %q", status, found, said)
	}
	for _, c := range []struct{ name, why string }{
		{"of another commit", "it is of commit cccccccccccc, and this program of aaaaaaaaaaaa"},
		{"the usual build", "without the tags"},
		{"another program", "does not say that it simulates"},
	} {
		switch c.name {
		case "of another commit":
			h.build("prog-simulate", "-tags", BuildTags, linked("", "cccccccccccc"))
		case "the usual build":
			h.build("prog-simulate")
		default:
			if err := os.WriteFile(exe+"-simulate", []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if found, _, said, status := h.run(elsewhere, exe, noGo); status != 2 || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.why) {
			t.Errorf("%s beside it, no go command: status %d, found %q, said %q; want %q", c.name, status, found, said, c.why)
		}
		if found, _, said, status := h.run(elsewhere, exe); status != 0 || found != made || !strings.Contains(said, c.why) {
			t.Errorf("%s beside it: status %d, found %q, said %q; want %q", c.name, status, found, said, c.why)
		}
	}
}

// TestFindSource checks that without paths from the compiler the source is found at the
// program or in the working directory only, and that changes in it are built.
func TestFindSource(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	h := newHouse(t)
	exe := h.build("prog", "-trimpath")
	elsewhere := t.TempDir()
	if _, _, said, status := h.run(elsewhere, exe); status != 2 || !strings.Contains(said, "the source of module example.org/prog is neither") {
		t.Errorf("in another directory: status %d, said %q", status, said)
	}
	sub := filepath.Join(h.source, "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	made, _, said, status := h.run(sub, exe)
	if status != 0 {
		t.Fatalf("below the source: status %d, said %q", status, said)
	}
	inside := filepath.Join(sub, "prog")
	if err := os.Link(exe, inside); err != nil {
		t.Fatal(err)
	}
	if found, _, said, status := h.run(elsewhere, inside); status != 0 || found != made {
		t.Errorf("the program below the source: status %d, found %q, said %q; want %q", status, found, said, made)
	}

	text, err := os.ReadFile("testdata/program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	h.write("main.go", strings.Replace(string(text), "lab.Suite)", "lab.Suite[:1])", 1))
	if _, _, said, status := h.run(sub, exe); status != 2 || !strings.Contains(said, "it has no lock mcs") {
		t.Errorf("a source without the lock: status %d, said %q", status, said)
	}
	h.write("main.go", "package main\n\nfunc main() { nonsense }\n")
	if _, _, said, status := h.run(sub, exe); status != 2 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "undefined: nonsense") {
		t.Errorf("a source that does not compile: status %d, said %q", status, said)
	}
}

func hooks(t *testing.T, exe string, want bool) {
	t.Helper()
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if has := bytes.Contains(text, []byte("locklab/atomics.SetScheduler")); has != want {
		t.Errorf("%s has the hook of package atomics: %t, want %t", exe, has, want)
	}
}

func TestSameCommit(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"0123456789ab", "0123456789abcdef", true},
		{"0123456789ab+dirty", "0123456789abcdef+dirty", true},
		{"0123456789ab", "0123456789abcdef+dirty", false},
		{"0123456789ab", "0123456789ac", false},
	} {
		if sameCommit(c.a, c.b) != c.want || sameCommit(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want %t", c.a, c.b, c.want)
		}
	}
}

func TestCommandIsQuoted(t *testing.T) {
	s := BuildSource{Package: unnamed}
	if got, want := s.command("/my dir/it's"), `go build -tags systematic,simulate -o '/my dir/it'\''s' .`; got != want {
		t.Errorf("the command is\n%s\nwant\n%s", got, want)
	}
}
