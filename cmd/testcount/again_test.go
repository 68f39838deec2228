package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAgain: a test that passes two reruns is named; final and many failures count.
func TestAgain(t *testing.T) {
	enterModule(t, map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		// Each test passes from the run in its name on.
		"a/a_test.go": `package a

import (
	"fmt"
	"os"
	"testing"
)

func passesFrom(t *testing.T, run int) {
	text, _ := os.ReadFile(t.Name())
	os.WriteFile(t.Name(), append(text, 'x'), 0o600)
	if len(text)+1 < run {
		t.Error("too early")
	}
}

func TestSecond(t *testing.T) {
	t.Run("part", func(part *testing.T) {
		if passesFrom(t, 2); t.Failed() {
			part.Error("too early")
		}
	})
}
func TestThird(t *testing.T)    { passesFrom(t, 3) }
func TestHolders(t *testing.T)  { passesFrom(t, 2) }
func TestSaid(t *testing.T)     { t.Log("two holders"); passesFrom(t, 2) }
func TestRace(t *testing.T)     { fmt.Println("WARNING: DATA RACE"); passesFrom(t, 2) }
func TestPanic(t *testing.T)    { if _, err := os.ReadFile("p"); err != nil { os.WriteFile("p", nil, 0o600); panic("once") } }
func TestAlways(t *testing.T)   { passesFrom(t, 1) }
`,
	})
	for _, c := range []struct {
		run      string
		limit    int
		failed   int
		unsteady string
	}{
		{"Second|Always", 2, 0, "a TestSecond"},
		{"Second|Always", 0, 2, ""},
		{"Second|Third", 2, 1, "a TestSecond"},
		{"Second|Third", 1, 3, ""},
		{"Second|Holders", 2, 3, ""},
		{"Said", 2, 1, ""},
		{"Race", 2, 1, ""},
		{"Second|Panic", 2, 3, ""},
	} {
		for _, left := range []string{"TestSecond", "TestThird", "TestHolders", "TestSaid", "TestRace", "TestAlways", "p"} {
			os.Remove(filepath.Join("a", left))
		}
		var out strings.Builder
		counts := &tally{out: &out, module: "example.org/m", final: regexp.MustCompile("two holders|^TestHolders$"), skipped: make(map[string][]string)}
		ok := counts.stages([]string{"-vet=off -p 1 -skip ^TestNone$ -run Test(" + c.run + ")$ ./a"})
		counts.again(c.limit)
		counts.summary()
		if got := strings.Join(counts.unsteady, ", "); !ok || counts.failed != c.failed || got != c.unsteady {
			t.Errorf("%s, %d again: %d failed, unsteady %q; want %d, %q\n%s", c.run, c.limit, counts.failed, got, c.failed, c.unsteady, out.String())
		}
		if c.unsteady != "" && !strings.Contains(out.String(), "unsteady: "+c.unsteady+" failed, and passed twice") {
			t.Errorf("the summary does not name what is unsteady:\n%s", out.String())
		}
	}
}
