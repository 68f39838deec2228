package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/internal/require"
)

func TestTally(t *testing.T) {
	var out strings.Builder
	c := &tally{out: &out, module: "example.org/m", skipped: make(map[string][]string)}
	c.read("", strings.NewReader(`{"Action":"run","Package":"example.org/m/a","Test":"TestOne"}
{"Action":"output","Package":"example.org/m/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"pass","Package":"example.org/m/a","Test":"TestOne"}
{"Action":"output","Package":"example.org/m/a","Test":"TestTwo","Output":"    a_test.go:12: redis: no redis-server on PATH\n"}
{"Action":"output","Package":"example.org/m/a","Test":"TestTwo","Output":"--- SKIP: TestTwo (0.00s)\n"}
{"Action":"skip","Package":"example.org/m/a","Test":"TestTwo"}
{"Action":"output","Package":"example.org/m/a","Test":"TestThree","Output":"    a_test.go:20: broken\n"}
{"Action":"fail","Package":"example.org/m/a","Test":"TestThree"}
{"Action":"fail","Package":"example.org/m/a","Elapsed":1.5}
{"Action":"build-output","ImportPath":"example.org/m/b","Output":"b.go:1: no\n"}
{"Action":"fail","Package":"example.org/m/b"}
{"Action":"output","Package":"example.org/m/c","Test":"TestFour","Output":"panic: of a goroutine\\n"}
{"Action":"output","Package":"example.org/m/d","Test":"TestFive","Output":"is under way elsewhere\\n"}
{"Action":"fail","Package":"example.org/m/c"}
not JSON
`))
	c.summary()
	for _, want := range []string{
		"a_test.go:20: broken", "b.go:1: no", "panic: of a goroutine", "not JSON",
		"skipped 1: redis: no redis-server on PATH (a TestTwo)",
		"\n1 passed, 3 failed, 1 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "TestOne") || strings.Contains(out.String(), "elsewhere") {
		t.Errorf("a passing test is shown, or one of another package:\n%s", out.String())
	}
}

// TestBeside: lanes run at the same time, and their failed and skipped tests count.
func TestBeside(t *testing.T) {
	t.Setenv(meetEnv, t.TempDir())
	for _, c := range []struct {
		args                    string
		passed, failed, skipped int
		ok                      bool
	}{
		{"A,B + B,A", 4, 0, 0, true},
		{"fail + skip", 0, 1, 1, false},
		{"fail then skip", 0, 1, 1, false}, // the second runs nevertheless
	} {
		var args []string
		for word := range strings.FieldsFuncSeq(c.args, func(r rune) bool { return r == ' ' || r == ',' }) {
			if word != "+" && word != "then" {
				word = "-count=1 -run ^TestMeet$/^" + word + "$ ."
			}
			args = append(args, word)
		}
		var out strings.Builder
		counts := &tally{out: &out, skipped: make(map[string][]string)}
		ok := counts.stages(args) && counts.failed == 0
		skipped := len(counts.skipped["for TestBeside"])
		if top := c.passed + c.skipped; ok != c.ok || counts.passed != c.passed+top || counts.failed != 2*c.failed || skipped != c.skipped {
			t.Errorf("%s: ok %t, %d passed, %d failed, %d skipped:\n%s", c.args, ok, counts.passed, counts.failed, skipped, out.String())
		}
	}
}

const meetEnv = "TESTCOUNT_MEET"

func TestMeet(t *testing.T) {
	dir := os.Getenv(meetEnv)
	if dir == "" {
		return
	}
	t.Run("fail", func(t *testing.T) { t.Error("for TestBeside") })
	t.Run("skip", func(t *testing.T) { t.Skip("for TestBeside") })
	for me, other := range map[string]string{"A": "B", "B": "A"} {
		t.Run(me, func(t *testing.T) { meetProcess(t, filepath.Join(dir, me), filepath.Join(dir, other)) })
	}
}

func meetProcess(t *testing.T, mine, other string) {
	f, err := os.OpenFile(mine, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	want, err := f.Stat()
	require.NoError(t, err)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if got, err := os.Stat(other); err == nil && got.Size() >= want.Size() {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the other lane does not come")
		}
	}
}

func TestOtherModule(t *testing.T) {
	out, err := exec.Command("go", goTest("-C ../.. -run ^TestTally$ ./cmd/testcount")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"Action":"pass"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCommand: a command is silent if it succeeds, and can fail the run.
func TestCommand(t *testing.T) {
	enterModule(t, map[string]string{
		"go.mod":   "module example.org/m\n\ngo 1.26\n",
		"ok/a.go":  "package ok\n",
		"vet/a.go": "package vet\n\nimport \"fmt\"\n\nfunc Print() { fmt.Printf(\"%d\\n\", \"text\") }\n",
	})
	for _, c := range []struct {
		args string
		says string // "" if it passes
	}{
		{"nice go vet ./ok", ""},
		{"nice go vet ./ok ./vet", "fmt.Printf format %d has arg \"text\" of wrong type string"},
	} {
		var out strings.Builder
		counts := &tally{out: &out, skipped: make(map[string][]string)}
		if ok := counts.stages([]string{c.args}); ok != (c.says == "") || !strings.Contains(out.String(), c.says) || c.says == "" && out.Len() > 0 {
			t.Errorf("%s: ok %t, said %q, want %q", c.args, ok, out.String(), c.says)
		}
	}
}

func TestHeedSignals(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	heedSignals()
	if out, err := exec.Command("sh", "-c", "trap 'exit 0' HUP; kill -HUP $$; exit 1").CombinedOutput(); err != nil {
		t.Errorf("the child ignores it: %v\n%s", err, out)
	}
}

// enterModule writes files below a new directory, which is the working one until the test ends.
func enterModule(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

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
		run           string
		limit, failed int
		unsteady      string
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
