package layers

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryPackageIsTested checks that make test runs the tests of each package once
// without build tags. make race must do the same, except for packages without
// concurrency.
func TestEveryPackageIsTested(t *testing.T) {
	for target, but := range map[string][]string{"test": nil, "test-all": nil, "race": racelessPackages(t)} {
		run := testedPackages(t, target)
		for _, p := range listPackages(t, "") {
			want := 1
			if slices.Contains(but, p.ImportPath) {
				want = 0
			}
			if run[p.ImportPath] != want {
				t.Errorf("make %s tests %s %d times, want %d", target, p.ImportPath, run[p.ImportPath], want)
			}
		}
	}
}

// testedPackages returns the number of times that a target tests each package without build tags.
// It evaluates the arguments of cmd/testcount in the shell.
func testedPackages(t *testing.T, target string) map[string]int {
	t.Helper()
	out, err := exec.Command("make", "-C", root, "-n", "--no-print-directory", target).Output()
	if err != nil {
		t.Fatalf("make -n %s: %v", target, err)
	}
	_, args, found := strings.Cut(string(out), "run ./cmd/testcount ")
	if _, after, flags := strings.Cut(args, " -- "); flags {
		args = after
	}
	args, _, _ = strings.Cut(args, "\n") // of this target, not of its prerequisites
	if !found {
		t.Fatalf("make %s does not run cmd/testcount:\n%s", target, out)
	}
	cmd := exec.Command("sh", "-ec", `printf '%s\n@\n' `+args)
	cmd.Dir = root
	if out, err = cmd.Output(); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	prefix := modulePath(t) + "/"
	run := make(map[string]int)
	for call := range strings.SplitSeq(string(out), "@\n") {
		words := strings.Fields(call)
		if slices.Contains(words, "-tags") || len(words) > 0 && words[0] == "nice" {
			continue
		}
		for _, w := range words {
			for _, p := range []string{"./", prefix} {
				if rel, ok := strings.CutPrefix(w, p); ok {
					run[rel]++
				}
			}
		}
	}
	return run
}

// TestRaceless: a package that make race leaves out starts no goroutine.
func TestRaceless(t *testing.T) {
	starts := regexp.MustCompile(`\bgo (func|\w+[.(])|\.(Go|TryGo|Parallel|RunParallel|AfterFunc)\(`)
	for _, name := range racelessPackages(t) {
		files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no Go files, %v", name, err)
		}
		for _, file := range files {
			text := readFile(t, strings.TrimPrefix(file, root))
			if at := starts.FindString(text); at != "" {
				t.Errorf("%s starts a goroutine, %q: take %s out of RACELESS in the Makefile", file, at, name)
			}
		}
	}
	if !starts.MatchString("\tgo func() {") || !starts.MatchString("t.Parallel()") {
		t.Error("the test cannot fail")
	}
}

func racelessPackages(t *testing.T) []string {
	t.Helper()
	text := readFile(t, "Makefile")
	list := regexp.MustCompile(`(?m)^RACELESS *:= (.*)$`).FindStringSubmatch(text)
	if list == nil {
		t.Fatal("the Makefile has no RACELESS: which packages does make race leave out?")
	}
	return strings.Fields(list[1])
}
