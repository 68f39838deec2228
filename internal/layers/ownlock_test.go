package layers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ownLock shortens the documented commands so that they take seconds, and lists the
// expected output of each.
var ownLock = []struct {
	command string // start of the command in docs/your-own-lock.md
	short   string // its replacement
	shows   string // a regular expression
}{
	{"go mod init", "", ""},
	{"go mod edit", "", ""},
	{"go get", "", ""},
	{"go test .", "go test -v -run ^TestSuite$/^mine$/^(try|reuse|exclusion)$ .", "--- PASS: TestSuite/mine/exclusion"},
	{"go test -run", "go test -run ^$ -bench Lock/lock=mine/workers=1/ -benchtime 1x .", "BenchmarkLock/lock=mine/workers=1/hold=100ns"},
	{"go build", "", ""},
	{"./mylock list", "", `mine +spin +- +- +test-and-set that yields`},
	{"./mylock run --out before", "./mylock run --locks mine --workers 2 --rounds 2 --duration 5ms --out before", "mine/workers=2"},
	{"./mylock report before", "", `\bmine\b`},
	{"./mylock run --out after", "./mylock run --resume --out before", "2 of 2 were measured before"},
	{"./mylock compare before after", "./mylock compare before before", `(?m)^ *mine +2 .* not worse$`},
}

// TestOwnLock makes the module of docs/your-own-lock.md, with its files and commands, and
// searches the output for its lock.
func TestOwnLock(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	text := readFile(t, filepath.Join("docs", "your-own-lock.md"))
	tree, err := filepath.Abs(root)
	requireNoError(t, err)
	dir := t.TempDir()
	files := codeBlocks(text, "go")
	if len(files) != 2 {
		t.Fatalf("it has %d files, want main.go and main_test.go", len(files))
	}
	for i, name := range []string{"main.go", "main_test.go"} {
		requireNoError(t, os.WriteFile(filepath.Join(dir, name), []byte(files[i]), 0o644))
	}
	commands := strings.Split(strings.TrimSpace(strings.Join(codeBlocks(text, "sh"), "")), "\n")
	if len(commands) != len(ownLock) {
		t.Fatalf("it has %d commands, want %d", len(commands), len(ownLock))
	}
	for i, c := range ownLock {
		if !strings.HasPrefix(commands[i], c.command) {
			t.Fatalf("it says %q, want %q", commands[i], c.command)
		}
		words := strings.Fields(c.short)
		if c.short == "" {
			words = strings.Fields(commands[i])
		}
		for k, w := range words {
			words[k] = strings.Replace(w, "=../locklab", "="+tree, 1) // so that nothing is compiled again
		}
		if got, status := command(t, dir, words); status != 0 || !regexp.MustCompile(c.shows).MatchString(got) {
			t.Fatalf("%s: exit status %d, want 0 and %s in\n%s", strings.Join(words, " "), status, c.shows, got)
		}
	}
	if page, err := os.ReadFile(filepath.Join(dir, "before", "index.html")); err != nil || !strings.Contains(string(page), ">mine<") {
		t.Errorf("the lock is not in the report (%v)", err)
	}
	simulateOwnLock(t, dir, files[0])
}

// simulateOwnLock lets the program of the document simulate its lock. The unchanged lock
// is invisible to the model. With words of package atomics it is visible.
func simulateOwnLock(t *testing.T, dir, file string) {
	t.Helper()
	simulate := strings.Fields("go run -tags systematic,simulate . simulate --machine skylake-24 --locks mine --workers 1,8")
	got, status := command(t, dir, simulate)
	if status != 1 || !strings.Contains(got, "the model does not see it") {
		t.Errorf("a lock of other words: exit status %d, printed\n%s", status, got)
	}
	for _, r := range [][2]string{
		{"\"sync/atomic\"", "\"locklab/atomics\""}, {"atomic.Bool", "atomics.Uint32"},
		{"CompareAndSwap(false, true)", "CompareAndSwap(0, 1)"}, {"Store(false)", "Store(0)"},
		{"runtime.Gosched()", "atomics.SpinHint(1)"}, {"\t\"runtime\"\n", ""},
	} {
		if !strings.Contains(file, r[0]) {
			t.Fatalf("the document's lock has no %s", r[0])
		}
		file = strings.ReplaceAll(file, r[0], r[1])
	}
	requireNoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(file), 0o644))
	if got, status := command(t, dir, simulate); status != 0 || !regexp.MustCompile(`(?m)^mine +8 `).MatchString(got) {
		t.Errorf("a lock of words that the model sees: exit status %d, printed\n%s", status, got)
	}
}

func codeBlocks(text, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// command runs a command in dir, without the network. -trimpath allows the use of build results
// from other directories.
func command(t *testing.T, dir string, words []string) (string, int) {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	if words[0] == "./mylock" {
		cmd.Path = filepath.Join(dir, "mylock")
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
