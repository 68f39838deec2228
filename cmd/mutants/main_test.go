package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/require"
)

func TestMutantsApply(t *testing.T) {
	ms, err := readAll("../..")
	if err != nil || len(ms) == 0 {
		t.Fatalf("%d mutants: %v", len(ms), err)
	}
	for _, m := range ms {
		text, err := m.apply("../..")
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.HasSuffix(m.file, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, text, 0); err != nil {
				t.Errorf("%v: %v", m, err)
			}
		}
		if !slices.Contains(m.test, "-run") {
			t.Errorf("%v: no -run in its test: %q", m, m.test)
		}
	}
}

// TestCampaign: mutants are killed, survive or fail, and a second run tries only survivors.
func TestCampaign(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.org/m\n",
		"a/a.go":           "package a\n\nfunc one() int {\n\treturn 1\n}\n",
		"a/a_test.go":      "package a\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif one() != 1 {\n\t\tt.Fail()\n\t}\n}\n",
		"a/" + entriesFile: entries,
	} {
		path := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(path), 0o777)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var out strings.Builder
	c := campaign{root: root, results: "build/mutants.txt", out: &out}
	err := c.run(regexp.MustCompile(""))
	if err == nil || err.Error() != "4 not killed: a/survives a/build a/gone a/none" {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{"killed a/killed ", "survives a/survives ", "does not build: a/build ", "not applied a/gone: ",
		"its test fails without it, or is none: a/none "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if written, _ := os.ReadFile(filepath.Join(root, c.results)); string(written) != out.String() {
		t.Errorf("wrote %q", written)
	}
	out.Reset()
	if err := c.run(regexp.MustCompile("a/killed")); err != nil || out.String() != "killed before a/killed\n" {
		t.Errorf("a second run: %v, %s", err, &out)
	}
}

const entries = `# It returns two.
mutant killed
file a.go
test -run ^TestOne$
 func one() int {
-	return 1
+	return 2

mutant survives
file a.go
test -run ^TestOne$
-	return 1
+	return 1 + 0

mutant build
file a.go
test -run ^TestOne$
-	return 1
+	return "one"

mutant gone
file a.go
test -run ^TestOne$
-	return 3
+	return 4

mutant none
file a.go
test -run ^TestNowhere$
-	return 1
+	return 2
`

func TestParseRejects(t *testing.T) {
	for _, text := range []string{
		"file a.go\nmutant a", "mutant a\nmutant a", "mutant a\n-old", "mutant a\nfile a.go\nfile b.go", "mutant a\nold",
		"mutant a\ntest -run X\ntest -run Y",
	} {
		if ms, err := parse("a", text); err == nil {
			t.Errorf("%q: %+v", text, ms)
		}
	}
}
