package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// A rule says what the test does with the commands of the documents that match:
// the first rule that does, counts.
type rule struct {
	match string // a regular expression
	short string // words added to the command so that it takes a second
	needs []string
	check func(t *testing.T, command string) // instead of running it, and then
	why   string                             // it is not run
}

// shortRun is enough of a run to show that the flags before it are understood.
const shortRun = "--workers 1 --rounds 1 --duration 1ms --warmup 1ms"

// docRules are for every command in the documents. In a command the words DIR
// and runs/... stand for directories of the test, NAME for mcs.
var docRules = []rule{
	{match: `^locklab hardware split-lock`, why: "it holds up every CPU of the host, and runs only when somebody asks for it"},
	{match: `^locklab hardware evidence$`},
	{match: `^locklab hardware`, short: "--budget 50ms --repeats 1"},
	{match: `^locklab run --resume|^locklab run .*--resume`},
	{match: `^locklab run .*--hardware`, why: "it is locklab run and then locklab hardware, which are run here"},
	{match: `^locklab run .*--budget`, check: budgetIsRead, why: "a budget is not to be shortened; TestFit spends them"},
	{match: `^locklab run .*zk-`, short: shortRun, needs: []string{harness.KindZooKeeper}},
	{match: `^locklab run`, short: shortRun},
	{match: `^locklab trace zk`, needs: []string{harness.KindZooKeeper}},
	{match: `^locklab trace redis`, needs: []string{harness.KindRedis}},
	{match: `^locklab trace mcs$`, why: "NAME stands for a lock kept by servers there"},
	{match: `^locklab report `},
	{match: `^locklab `},
	{match: `^go test .*-bench Lock .*\./spinlock`, short: "-benchtime 1x -count 1 -cpu 1"},
	{match: `^go test`, check: testsExist, why: "it takes minutes, or the suite runs it anyway; that what it names exists is checked"},
	{match: `^go run .*benchstat@`, why: "it is fetched from the network; TestWriterAndLoad reads bench.txt by the parser of benchstat"},
	{match: `^go (build|run) `, why: "the go command has built this package to test it"},
	{match: `^CGO_ENABLED=0 GOARCH=`, why: "it needs emulators; make test-arches runs the binaries of all architectures"},
	{match: `^go doc `},
	{match: `^make `, check: targetExists, why: "it is the whole suite, or minutes of measuring; its target is expanded"},
	{match: `^scripts/deps`, why: "it installs packages; scripts/deps_test.sh tests it"},
	{match: `^benchstat `, why: "it is not part of this module; TestWriterAndLoad reads bench.txt by its parser"},
}

var (
	fencedRE  = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")
	inlineRE  = regexp.MustCompile("`([^`\n]+)`")
	commandRE = regexp.MustCompile(`^(locklab [a-z]|go (test|run|build|doc) |make [a-z]|scripts/|benchstat |CGO_ENABLED)`)
	commentRE = regexp.MustCompile(`\s+#.*$`)
	exampleRE = regexp.MustCompile(`\s{3,}.*$`)
)

// documents returns the files whose commands are run.
func documents(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"../../README.md", "../../CONTRIBUTING.md", "../../docs/*.md", "../../docs/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, more...)
	}
	return names
}

// commands returns every command of the documents and of --help, and the first
// place of each.
func commands(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	add := func(text, where string) {
		for _, c := range strings.Split(text, " && ") {
			c = strings.ReplaceAll(strings.TrimSpace(commentRE.ReplaceAllString(c, "")), "build/locklab", "locklab")
			c = strings.ReplaceAll(c, "go run ./cmd/locklab", "locklab")
			if c != "" && found[c] == "" {
				found[c] = where
			}
		}
	}
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		where := strings.TrimPrefix(name, "../../")
		for _, block := range fencedRE.FindAllStringSubmatch(string(text), -1) {
			if block[1] != "sh" {
				continue
			}
			for line := range strings.Lines(block[2]) {
				add(line, where)
			}
		}
		for _, inline := range inlineRE.FindAllStringSubmatch(fencedRE.ReplaceAllString(string(text), ""), -1) {
			if c := strings.TrimPrefix(inline[1], "build/"); commandRE.MatchString(c) && c != "scripts/deps" {
				add(c, where)
			}
		}
	}
	for _, c := range command().Commands() {
		for line := range strings.Lines(c.Example) {
			add(exampleRE.ReplaceAllString(strings.TrimSpace(line), ""), "locklab "+c.Name()+" --help")
		}
	}
	return found
}

// TestCommands runs each command of the documents, shortened as docRules say.
func TestCommands(t *testing.T) {
	found := commands(t)
	if len(found) < 40 {
		t.Fatalf("found only %d commands", len(found))
	}
	used := make(map[string]bool)
	for command, where := range found {
		command = strings.ReplaceAll(command, "NAME", "mcs")
		i := slices.IndexFunc(docRules, func(r rule) bool { return regexp.MustCompile(r.match).MatchString(command) })
		if i < 0 {
			t.Errorf("%s: no rule says how to test %q", where, command)
			continue
		}
		r := docRules[i]
		used[r.match] = true
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			if r.check != nil {
				r.check(t, command)
			}
			if r.why != "" {
				return
			}
			for _, kind := range r.needs {
				if err := backend.Available(kind); err != nil && !backend.Required(kind) {
					t.Skipf("%s: %v", kind, err)
				}
			}
			runCommandOf(t, command, r.short, where)
		})
	}
	for _, r := range docRules {
		if !used[r.match] {
			t.Errorf("no command matches the rule %s", r.match)
		}
	}
}

// runCommandOf runs a command in the shell, in a directory where locklab is this
// test and what the command reads is there.
func runCommandOf(t *testing.T, command, short, where string) {
	home := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec env %s=1 '%s' \"$@\"\n", asMain, exe)
	if err := os.WriteFile(filepath.Join(home, "locklab"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	sh := func(command string) (string, error) {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = home
		if strings.HasPrefix(command, "go ") {
			cmd.Dir = "../.."
		}
		cmd.Env = append(os.Environ(), "PATH="+home+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	switch { // what was there before
	case strings.Contains(command, "hardware") && strings.Contains(command, "--resume"):
		_, err = sh(strings.Replace(command, "--resume", short, 1))
	case strings.Contains(command, "--resume"):
		_, err = sh("locklab run --locks sync-mutex --out DIR " + shortRun)
	case strings.HasPrefix(command, "locklab report ") || strings.HasPrefix(command, "locklab export "):
		err = os.CopyFS(filepath.Join(home, strings.Fields(command)[2]), os.DirFS("../../reports/testdata/run"))
	}
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(command, " | ")
	if first += " " + short; rest != "" && !strings.HasPrefix(rest, "tee ") {
		t.Fatalf("%s: a pipe into %q", where, rest)
	}
	if out, err := sh(first); err != nil {
		t.Errorf("%s: %s\n%v\n%s", where, first, err, out)
	}
}

// budgetIsRead checks the value of --budget, and runs the rest of the command.
func budgetIsRead(t *testing.T, command string) {
	budget := regexp.MustCompile(`--budget (\S+)`)
	m := budget.FindStringSubmatch(command)
	if m == nil {
		t.Fatalf("no budget in %q", command)
	}
	if _, err := time.ParseDuration(m[1]); err != nil {
		t.Error(err)
	}
	runCommandOf(t, budget.ReplaceAllString(command, ""), "--workers 1 --rounds 1 --duration 1ms --warmup 1ms --locks mcs", "a command with a budget")
}

// targetExists lets make say what it would do.
func targetExists(t *testing.T, command string) {
	cmd := exec.Command("sh", "-c", strings.Replace(command, "make ", "make -n ", 1))
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// testsExist looks for the tests or benchmarks that a "go test" names, and for
// the flags that are not those of the go command, in the sources of its packages.
func testsExist(t *testing.T, command string) {
	words := strings.Fields(strings.ReplaceAll(command, "'", ""))
	var patterns, flags []string
	var sources strings.Builder
	for i, w := range words {
		switch {
		case w == "-run" || w == "-bench":
			kind := map[string]string{"-run": "Test", "-bench": "Benchmark"}[w]
			if p, _, _ := strings.Cut(words[i+1], "/"); p != "^$" && p != "-" && !strings.Contains(p, "=") {
				patterns = append(patterns, `(?m)^func `+kind+`\w*(`+p+`)`)
			}
		case strings.HasPrefix(w, "./"):
			files, err := filepath.Glob(filepath.Join("../..", w, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s has no tests (%v)", w, err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources.Write(text)
			}
		case strings.HasPrefix(w, "-") && strings.Contains(w, "."):
			flags = append(flags, `"`+strings.TrimPrefix(w, "-")+`"`)
		}
	}
	for _, p := range patterns {
		re, err := regexp.Compile(strings.ReplaceAll(p, "(Test", "("))
		if err != nil {
			t.Fatal(err)
		}
		if !re.MatchString(sources.String()) {
			t.Errorf("no function matches %s", p)
		}
	}
	for _, f := range flags {
		if !strings.Contains(sources.String(), f) {
			t.Errorf("no test has the flag %s", f)
		}
	}
}

// TestDocRulesReject: the checks must fail on what they are there for.
func TestDocRulesReject(t *testing.T) {
	for name, broken := range map[string]func(t *testing.T){
		"a flag":      func(t *testing.T) { runCommandOf(t, "locklab list --nonsense", "", "here") },
		"a lock":      func(t *testing.T) { runCommandOf(t, "locklab run --locks nonsense", shortRun, "here") },
		"a target":    func(t *testing.T) { targetExists(t, "make nonsense") },
		"a benchmark": func(t *testing.T) { testsExist(t, "go test -run '^$' -bench Nonsense ./peers") },
		"a test flag": func(t *testing.T) { testsExist(t, "go test -run '^$' -bench ZooKeeperPairs ./peers -pairs.nonsense 3") },
	} {
		failed := make(chan bool)
		go func() { // a test that fails ends its goroutine
			probe := new(testing.T)
			defer func() { recover(); failed <- probe.Failed() }()
			broken(probe)
		}()
		if !<-failed {
			t.Errorf("it does not see that %s does not exist", name)
		}
	}
}
