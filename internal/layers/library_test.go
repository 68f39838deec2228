package layers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLibraries(t *testing.T) {
	for i, b := range builds {
		pkgs := listing(t, i)
		for _, l := range libraries {
			golden := filepath.Join("testdata", "libraries", l.path+".golden")
			if at := slices.IndexFunc(pkgs, func(p pkg) bool { return p.rel == l.path }); *update && i == 0 && at >= 0 {
				if err := os.WriteFile(golden, []byte(strings.Join(pkgs[at].deps, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			accepted, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.checkDeps(pkgs, string(accepted), i == 0); err != nil {
				t.Errorf("tags=%s env=%v: %v", b.tags, b.env, err)
			}
		}
	}
}

func TestLibraryDocs(t *testing.T) {
	if err := touch(root); err != nil { // go doc is a separate process, too
		t.Fatal(err)
	}
	for _, l := range libraries {
		if err := checkGodoc(root, l); err != nil {
			t.Error(err)
		}
	}
}

func TestLibraryPrograms(t *testing.T) {
	for _, l := range libraries {
		if err := checkSymbols(symbols(t, l.path)); err != nil {
			t.Errorf("a program that uses %s: %v", l.path, err)
		}
	}
	// A program that uses the lab must be rejected.
	for _, want := range []string{"/lab.", "harness"} {
		var with []byte
		for line := range strings.Lines(string(symbols(t, "specimen"))) {
			if strings.Contains(line, want) {
				with = append(with, line...)
			}
		}
		wantError(t, checkSymbols(with), "the program has the symbol")
	}
}

func symbols(t *testing.T, name string) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	for _, args := range [][]string{{"build", "-o", program, "./testdata/programs/" + name}, {"tool", "nm", program}} {
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		if args[0] == "tool" {
			if !strings.Contains(string(out), "main.main") {
				t.Fatalf("%s has no main.main", name)
			}
			return out
		}
	}
	return nil
}

func TestLibraryRejects(t *testing.T) {
	const fixture = "testdata/fixture"
	pkgs, err := list(fixture, build{})
	if err != nil {
		t.Fatal(err)
	}
	l := libraries[0]
	if l.path != "spinlock" {
		t.Fatalf("the fixture is for spinlock, not %s", l.path)
	}
	err = l.checkDeps(pkgs, "atomics/word\ngolang.org/x/sys/cpu\n", true)
	wantError(t, err, "spinlock depends on harness/contract") // indirectly
	wantError(t, err, "spinlock links net, which it must not")
	wantError(t, err, "spinlock does not depend on golang.org/x/sys/cpu any more")
	if err != nil && strings.Contains(err.Error(), "atomics/word:") {
		t.Errorf("an accepted package is rejected: %v", err)
	}
	never := library{path: "spinlock", never: []string{"harness/contract"}} // regardless of the golden list
	wantError(t, never.checkDeps(pkgs, "atomics/word\nharness/contract\n", true), "spinlock links harness/contract, which it must not")
	wantError(t, (library{path: "nosuch"}).checkDeps(pkgs, "", true), "there is no package nosuch")

	err = checkGodoc(fixture, l)
	for _, word := range []string{"Rank", "Suite", "harness", "lab", "imports"} {
		wantError(t, err, fmt.Sprintf("speaks of %q", word))
	}
	wantError(t, err, "a link that points nowhere: [Lost]")
	wantError(t, err, "a link that points nowhere: [lost.Setup]")
	for _, good := range []string{"[Found]", "[Found.Lock]", "[net.Conn]"} {
		if err != nil && strings.Contains(err.Error(), good) {
			t.Errorf("a link that is right is rejected: %v", err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "Franke") {
		t.Errorf("a name that contains a word is taken for it: %v", err)
	}
	wantError(t, checkGodoc(fixture, library{path: "mutex"}), "")
}
