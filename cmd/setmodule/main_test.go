package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const moved = "example.org/you/locklab"

// quick are packages with fast tests that would find a forgotten or a wrong replacement.
// In imports "go list" finds one, for all packages and their tests: no package has that
// path.
var quick = []string{"cmd/testcount", "harness", "harness/result", "internal/layers"}

const slow = "^(TestStripped|TestRanks|TestLibraries|TestLibraryPrograms|TestOutside|TestOwnLock|TestFiles|TestFilesReject|TestEveryPackageIsTested)$"

// quickBuild disables the optimizer: all packages of the copy are new to the compiler,
// whose cache uses their paths. make test has compiled the unchanged packages with
// -trimpath.
const quickBuild = "GOFLAGS=-trimpath '-gcflags=" + moved + "/...=-N -l'"

// TestMakeModule changes the path of a copy of this tree, builds it, vets and tests some
// of its packages, and restores the path.
func TestMakeModule(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	home := copyTree(t)
	before := read(t, home)
	for range 2 { // the second time changes nothing
		command(t, home, "make", "--no-print-directory", "module", "MODULE="+moved)
	}
	if got := strings.TrimSpace(command(t, home, "go", "list", "-m")); got != moved {
		t.Fatalf("go list -m: %s", got)
	}
	if out := command(t, home, "gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted any more:\n%s", out)
	}
	command(t, home, "go", "list", "-deps", "-test", "./...")
	command(t, home, "go", "build", "./atomics/...", "./spinlock") // with assembly
	var packages []string
	for _, p := range quick {
		packages = append(packages, "./"+p)
	}
	command(t, home, "go", append([]string{"vet"}, packages...)...)
	command(t, home, "go", append([]string{"test", "-vet=off", "-skip", slow}, packages...)...)
	command(t, home, "go", "test", "-vet=off", "-run", "^TestSuiteComplete$", "./spinlock/lab")
	command(t, home, "make", "--no-print-directory", "module", "MODULE=locklab")
	after := read(t, home)
	if len(before) < 500 || len(after) != len(before) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s is not what it was", name)
		}
	}
}

func TestMakeModuleRefuses(t *testing.T) {
	for _, path := range []string{"", "https://example.org/you/locklab"} {
		cmd := exec.Command("make", "--no-print-directory", "module", "MODULE="+path)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "MAKELEVEL=0", "MAKEFLAGS=") // as if no make had started this test
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		said, _, _ := strings.Cut(stderr.String(), "make: ***")
		if cmd.ProcessState.ExitCode() != 2 || stdout.String() != "" || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "setmodule: MODULE=") {
			t.Errorf("MODULE=%s: %v\n%s%s", path, err, stdout.String(), stderr.String())
		}
	}
}

// copyTree copies the files of this tree that git tracks or does not ignore into a
// directory of the test.
func copyTree(t *testing.T) string {
	t.Helper()
	const root = "../.."
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	home := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, but not yet committed
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func read(t *testing.T, home string) map[string]string {
	t.Helper()
	m, err := load(home)
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, name := range m.files {
		text, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

func command(t *testing.T, home string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), quickBuild, "GOPROXY=off", "GOWORK=off", "MAKEFLAGS=", "MAKELEVEL=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
