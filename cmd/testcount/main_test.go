package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
		t.Run(me, func(t *testing.T) { meet(t, filepath.Join(dir, me), filepath.Join(dir, other)) })
	}
}

func meet(t *testing.T, mine, other string) {
	f, err := os.OpenFile(mine, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	want, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if got, err := os.Stat(other); err == nil && got.Size() >= want.Size() {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the other lane does not come")
		}
	}
}

func TestLongest(t *testing.T) {
	var in, out strings.Builder
	for i := range 30 {
		name := fmt.Sprintf("Test%02d", i*7%30)
		fmt.Fprintf(&in, `{"Action":"pass","Package":"example.org/m/a","Test":"%s","Elapsed":%d}`+"\n", name, i*7%30)
		fmt.Fprintf(&in, `{"Action":"pass","Package":"example.org/m/a","Test":"%s/part","Elapsed":100}`+"\n", name)
	}
	c := &tally{out: &out, module: "example.org/m", skipped: make(map[string][]string)}
	c.read("", strings.NewReader(in.String()))
	c.summary()
	var want strings.Builder
	for i := 29; i > 19; i-- {
		fmt.Fprintf(&want, "long  %7.1f s  a Test%02d\n", float64(i), i)
	}
	if got := out.String(); !strings.HasPrefix(got, want.String()+"60 passed") {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

func TestOtherModule(t *testing.T) {
	out, err := exec.Command("go", goTest("-C ../.. -run ^TestTally$ ./cmd/testcount")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"Action":"pass"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// enterModule writes a module into a temporary directory, and makes it the current one.
func enterModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// TestAside: vet and compile run during tests, at low priority, and can fail the run.
func TestAside(t *testing.T) {
	enterModule(t, map[string]string{
		"go.mod":         "module example.org/m\n\ngo 1.26\n",
		"ok/a.go":        "package ok\n",
		"vet/a.go":       "package vet\n\nimport \"fmt\"\n\nfunc Print() { fmt.Printf(\"%d\\n\", \"text\") }\n",
		"arch/a.go":      "//go:build arm64\n\npackage arch\n\nvar A int = \"text\"\n",
		"arch/b.go":      "package arch\n",
		"test/a.go":      "package test\n",
		"test/a_test.go": "package test\n\nvar A int = \"text\"\n",
	})
	for _, c := range []struct {
		args string
		says string // "" if it passes
	}{
		{"vet ./ok ./arch", ""},
		{"compile ./ok ./arch ./vet", ""},
		{"vet ./ok ./vet", "fmt.Printf format %d has arg \"text\" of wrong type string"},
		{"compile GOARCH=arm64 CGO_ENABLED=0 ./arch", "cannot use \"text\""},
		{"compile ./test", "cannot use \"text\""},
		{"compile -C ok .", ""},
	} {
		var out strings.Builder
		counts := &tally{out: &out, skipped: make(map[string][]string)}
		if ok := counts.stages([]string{c.args}); ok != (c.says == "") || !strings.Contains(out.String(), c.says) || c.says == "" && out.Len() > 0 {
			t.Errorf("%s: ok %t, said %q, want %q", c.args, ok, out.String(), c.says)
		}
	}
	if nice, err := exec.LookPath("nice"); err == nil {
		if cmd := asideCommand("vet -x A=b ./ok"); strings.Join(cmd.Args, " ") != nice+" -n 19 go vet -x ./ok" || cmd.Env[len(cmd.Env)-1] != "A=b" {
			t.Errorf("the command is %q, its environment ends with %q", cmd.Args, cmd.Env[len(cmd.Env)-1])
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
