package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestRaceless(t *testing.T) {
	for _, name := range raceless(t) {
		if err := single(filepath.Join(root, name)); err != nil {
			t.Errorf("%s belongs under the race detector: take it out of RACELESS in the Makefile:\n%v", name, err)
		}
	}
}

func raceless(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACELESS *:= (.*)$`).FindSubmatch(text)
	if list == nil {
		t.Fatal("the Makefile has no RACELESS: which packages does make race leave out?")
	}
	return strings.Fields(string(list[1]))
}

func TestSingleRejects(t *testing.T) {
	for text, ok := range map[string]bool{
		"for range 3 { print() }":         true,
		"go print()":                      false,
		"func() { go print() }()":         false,
		"wg.Go(print)":                    false,
		"group.TryGo(nil)":                false,
		"t.Parallel()":                    false,
		"time.AfterFunc(1, func() {})":    false,
		"defer func() { b.Wait() }()":     true,
		"run(func() { t.Parallel() }, 1)": false,
	} {
		dir := t.TempDir()
		for _, name := range []string{"a.go", "a_test.go"} {
			source := "package a\nfunc f() { " + text + " }\n"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := single(dir); (err == nil) != ok {
				t.Errorf("%s: %s: %v", name, text, err)
			}
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if single(t.TempDir()) == nil {
		t.Error("a directory without Go files passes")
	}
}
