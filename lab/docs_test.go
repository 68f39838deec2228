package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

// A rule is the treatment of matching commands in the documents; the first match counts.
type rule struct {
	match string // a regular expression
	short string // words that shorten the command to a second
	needs []string
	check func(home, command string) error // runs in the directory home instead of the command
	why   string                           // the reason why it is not run unchanged
}

// shortRun is the shortest run that parses the flags before it.
const shortRun = "--workers 1 --rounds 1 --duration 1ms --warmup 1ms"

// shortLoad is the same for an open loop, whose window needs arrivals.
const shortLoad = "--rounds 1 --duration 30ms --warmup 1ms"

// simulates succeeds if the usual build understands a simulation; TestSimulate runs one.
const simulates = "2>&1 | grep -q 'to simulate, run: go run '"

// docRules are for every command: DIR and runs/... are test directories, NAME is mcs.
var docRules = []rule{
	{match: `^locklab (agree|history|merge|proxy|env .*--strict|report .*--(baseline|chaos|contenders|rtt|strict)|compare .*--(interleave|to)|run .*--(hardware|spawn|rate \S*auto)|run --rank) ?`,
		check: checkArguments, why: "it takes runs, builds, ranks or a machine, which the test of the command has"},
	{match: `^locklab hardware split-lock`, why: "it holds up every CPU of the host, and runs only when asked for by name"},
	{match: `^locklab hardware evidence$`},
	{match: `^locklab hardware`, short: "--budget 50ms --repeats 1"},
	{match: `^locklab chaos list`},
	{match: `^locklab chaos --scenario mcs`, why: "NAME stands for a scenario there"},
	{match: `^locklab chaos`, check: scenariosExist, why: "it takes minutes; TestChaos tries one, and TestScenarios of harness/chaos each"},
	{match: `^locklab run --resume|^locklab run .*--resume`},
	{match: `^locklab run .*--budget`, check: budgetIsRead, why: "a budget is not to be shortened; TestFit spends them"},
	{match: `^locklab run .*(redis|zk|redsync|curator).*--rate `, short: shortLoad, needs: []string{harness.KindRedis, harness.KindZooKeeper}},
	{match: `^locklab run .*--rate `, short: shortLoad},
	{match: `^locklab run .*zk-`, short: shortRun, needs: []string{harness.KindZooKeeper}},
	{match: `^locklab run .*redis-`, short: shortRun, needs: []string{harness.KindRedis}},
	{match: `^locklab run`, short: shortRun},
	{match: `^locklab trace zk`, needs: []string{harness.KindZooKeeper}},
	{match: `^locklab trace redis`, needs: []string{harness.KindRedis}},
	{match: `^locklab trace mcs$`, why: "NAME stands for a distributed lock there"},
	{match: `^locklab (report|export|compare)( --format \S+)?$`, why: "it is a mention, without the runs that it needs"},
	{match: `^locklab simulate --list$`},
	{match: `^locklab simulate`, short: simulates},
	{match: `^locklab `},
	{match: `^go (test|build)( .*)? \.$|^\./mylock `, why: "it is of a module outside this one, docs/your-own-lock.md, which TestOwnLock of internal/layers makes"},
	{match: `^go test .*-bench 'Lock.*\./spinlock`, short: "-benchtime 1x -count 1 -cpu 1"},
	{match: `^go test`, check: testsExist, why: "it takes minutes, or the suite runs it anyway; that what it names exists is checked"},
	{match: `^go run .*benchstat@`, why: "it is fetched from the network; TestWriterAndLoad reads bench.txt by the parser of benchstat"},
	{match: `^go (build|run) `, why: "the go command has built this package to test it"},
	{match: `^go (mod|get) `, why: "it is for a module outside this one, in which TestOutside or TestOwnLock of internal/layers runs it"},
	{match: `^CGO_ENABLED=0 GOARCH=|^qemu-`, why: "it needs emulators; make test-arches runs the binaries of all architectures"},
	{match: `^LOCKLAB_REDIS_SERVER=`, why: "it takes a server of another version than the installed one"},
	{match: `^go doc `},
	{match: `^make `, check: targetExists, why: "it is the whole suite, or minutes of measuring; its target is expanded"},
	{match: `^scripts/namespaces .*locklab run`, check: checkArguments, why: "it takes root; TestRanksApart of deploy runs one"},
	{match: `^export LOCKLAB_REDIS=`, why: "it names a server of the reader"},
	{match: `^sbatch `, check: deployExists, why: "it takes Slurm; make test-slurm submits it"},
	{match: `^(podman build|kubectl|deploy/kubernetes/fetch) `, check: deployExists, why: "it takes a cluster or an engine; TestManifests, TestContainerfile and TestFetch of deploy go as far as one does without"},
	{match: `^podman push `, why: "it takes a registry"},
	{match: `^scripts/programs`, why: "it fetches public packages, and takes minutes"},
	{match: `^scripts/models `, why: "it takes Spin and a C compiler; make models runs it"},
	{match: `^scripts/deps`, why: "it installs packages; scripts/deps_test.sh tests it"},
}

var (
	fencedRE  = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")
	inlineRE  = regexp.MustCompile("`([^`\n]+)`")
	commandRE = regexp.MustCompile(`^(locklab [a-z]|go (test|run|build|doc) |make [a-z]|scripts/|benchstat |CGO_ENABLED)`)
	commentRE = regexp.MustCompile(`\s+#.*$`)
	exampleRE = regexp.MustCompile(`\s{3,}.*$`)
)

func documents(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"../README.md", "../CONTRIBUTING.md", "../docs/*.md", "../docs/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, more...)
	}
	return names
}

func commands(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	add := func(text, where string) {
		for _, c := range strings.Split(text, " && ") {
			c = strings.TrimSpace(commentRE.ReplaceAllString(strings.TrimSpace(c), ""))
			c = strings.TrimPrefix(c, "build/")
			c = strings.ReplaceAll(c, "go run ./cmd/locklab", "locklab")
			if c != "" && found[c] == "" {
				found[c] = where
			}
		}
	}
	for _, name := range documents(t) {
		text := readFile(t, name)
		where := strings.TrimPrefix(name, "../")
		for _, block := range fencedRE.FindAllStringSubmatch(text, -1) {
			if block[1] != "sh" {
				continue
			}
			for line := range strings.Lines(block[2]) {
				add(line, where)
			}
		}
		for _, inline := range inlineRE.FindAllStringSubmatch(fencedRE.ReplaceAllString(text, ""), -1) {
			if c := strings.TrimPrefix(inline[1], "build/"); commandRE.MatchString(c) && c != "scripts/deps" {
				add(c, where)
			}
		}
	}
	for _, c := range program().command(io.Discard).Commands() {
		for line := range strings.Lines(c.Example) {
			add(exampleRE.ReplaceAllString(strings.TrimSpace(line), ""), "locklab "+c.Name()+" --help")
		}
	}
	return found
}

func TestCommands(t *testing.T) {
	if raceEnabled {
		t.Skip("the commands are run without the race detector, by make test: each is tested under it on its own")
	}
	found := commands(t)
	if len(found) < 40 {
		t.Fatalf("found only %d commands", len(found))
	}
	used := make(map[string]bool)
	alike := make(map[string]bool)
	for _, command := range slices.Sorted(maps.Keys(found)) {
		where := found[command]
		command = strings.ReplaceAll(command, "NAME", "mcs")
		// What is overridden or stands for a directory makes no difference.
		key := regexp.MustCompile(`--rounds \d+|(-o|--out) \S+|(report|export) \S+|--png \S+`).ReplaceAllString(command, "$1$2")
		if alike[strings.TrimSpace(key)] {
			continue
		}
		alike[strings.TrimSpace(key)] = true
		i := slices.IndexFunc(docRules, func(r rule) bool { return regexp.MustCompile(r.match).MatchString(command) })
		if i < 0 {
			t.Errorf("%s: no rule says how to test %q", where, command)
			continue
		}
		r := docRules[i]
		used[r.match] = true
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(where, "README") {
				skipIfShort(t)
			}
			for _, kind := range r.needs {
				needServers(t, kind)
			}
			if r.check != nil {
				if err := r.check(t.TempDir(), command); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			}
			if r.why != "" {
				return
			}
			if err := shortenCommand(t.TempDir(), command, r.short); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		})
	}
	for _, r := range docRules {
		if !used[r.match] {
			t.Errorf("no command matches the rule %s", r.match)
		}
	}
}

// mostTime is when a command, shortened to a second or two, counts as hung under any load.
const mostTime = 4 * time.Minute

// shortenCommand runs a command followed by short, in the shell, in the empty directory home.
// There locklab is this test, and the inputs of the command are put there first.
func shortenCommand(home, command, short string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec env %s=1 '%s' \"$@\"\n", asMain, exe)
	if err := os.WriteFile(filepath.Join(home, "locklab"), []byte(script), 0o755); err != nil {
		return err
	}
	switch { // what was there before
	case strings.Contains(command, "hardware") && strings.Contains(command, "--resume"):
		err = runShell(home, strings.Replace(command, "--resume", short, 1))
	case strings.Contains(command, "--resume"):
		err = runShell(home, "locklab run --locks sync-mutex --out DIR "+shortRun)
	case !strings.HasPrefix(command, "locklab run") && !strings.HasPrefix(command, "locklab hardware"):
		err = putRuns(home, strings.Fields(command))
	}
	if err != nil {
		return err
	}
	first, rest, _ := strings.Cut(command, " | ")
	if rest != "" && !strings.HasPrefix(rest, "tee ") {
		return fmt.Errorf("%s: a pipe into %q", command, rest)
	}
	return runShell(home, first+" "+short)
}

// putRuns puts a run at each input path of a command: in capitals, or in runs/ or build/.
func putRuns(home string, words []string) error {
	for i, w := range words {
		if !regexp.MustCompile(`^([A-Z0-9]+|runs/.*|build/.*)$`).MatchString(w) || i == 0 || strings.HasPrefix(words[i-1], "-") && words[i-1] != "--into" {
			continue
		}
		to := filepath.Join(home, w)
		if err := os.CopyFS(to, os.DirFS("../reports/testdata/run")); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if words[1] != "report" {
			continue
		}
		// The runs of a report must be different.
		manifest, err := os.ReadFile(filepath.Join(to, "manifest.json"))
		if err != nil {
			return err
		}
		manifest = bytes.Replace(manifest, []byte(`"seed": `), fmt.Appendf(nil, `"seed": %d, "was": `, i), 1)
		if err := os.WriteFile(filepath.Join(to, "manifest.json"), manifest, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func runShell(home, command string) error {
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+command)
	cmd.Dir = home
	if strings.HasPrefix(command, "go ") {
		cmd.Dir = ".."
	}
	cmd.Env = append(os.Environ(), "PATH="+home+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out[max(0, len(out)-1000):])
	}
	return nil
}

func budgetIsRead(home, command string) error {
	budget := regexp.MustCompile(`--budget (\S+)`)
	m := budget.FindStringSubmatch(command)
	if m == nil {
		return fmt.Errorf("no budget in %q", command)
	}
	if _, err := time.ParseDuration(m[1]); err != nil {
		return err
	}
	return shortenCommand(home, budget.ReplaceAllString(command, ""), shortRun+" --locks mcs")
}

func scenariosExist(_, command string) error {
	c := chaosRun{program: program()}
	words := strings.Fields(strings.ReplaceAll(command, "'", ""))
	for i, word := range words {
		switch word {
		case "--scenario":
			c.scenarios = strings.Split(words[i+1], ",")
		case "--locks":
			c.locks = strings.Split(words[i+1], ",")
		}
	}
	_, err := c.plan()
	return err
}

func targetExists(_, command string) error {
	cmd := exec.Command("sh", "-c", strings.Replace(command, "make ", "make -n ", 1))
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

func testsExist(_, command string) error {
	words := strings.Fields(strings.ReplaceAll(command, "'", ""))
	var wanted []string // regular expressions
	var sources strings.Builder
	for i, w := range words {
		switch {
		case (w == "-run" || w == "-bench") && i+1 < len(words):
			kind := map[string]string{"-run": "Test", "-bench": "Benchmark"}[w]
			if p, _, _ := strings.Cut(words[i+1], "/"); p != "^$" && p != "-" {
				for name := range strings.SplitSeq(p, "|") {
					wanted = append(wanted, `(?m)^func `+kind+`\w*`+strings.TrimPrefix(name, kind))
				}
			}
		case strings.HasPrefix(w, "./"):
			files, err := filepath.Glob(filepath.Join("..", w, "*_test.go"))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("%s has no tests (%w)", w, err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					return err
				}
				sources.Write(text)
			}
		case strings.HasPrefix(w, "-") && strings.Contains(w, "."):
			wanted = append(wanted, regexp.QuoteMeta(`"`+strings.TrimPrefix(w, "-")+`"`))
		}
	}
	for _, w := range wanted {
		re, err := regexp.Compile(w)
		if err != nil {
			return err
		}
		if !re.MatchString(sources.String()) {
			return fmt.Errorf("%s: nothing matches %s", command, w)
		}
	}
	return nil
}

func TestDocRulesReject(t *testing.T) {
	run := func(home, command string) error { return shortenCommand(home, command, shortRun) }
	list := func(home, command string) error { return shortenCommand(home, command, "") }
	simulate := func(home, command string) error { return shortenCommand(home, command, simulates) }
	for command, check := range map[string]func(home, command string) error{
		"locklab list --nonsense":                         list,
		"locklab nonsense":                                list,
		"locklab run --locks nonsense":                    run,
		"locklab run --locks mcs --budget soon":           budgetIsRead,
		"locklab list | sort":                             list,
		"make nonsense":                                   targetExists,
		"kubectl apply -f deploy/nonsense":                deployExists,
		"kubectl apply":                                   deployExists,
		"scripts/namespaces 3 -- locklab run --nonsense":  checkArguments,
		"locklab merge --nonsense DIR":                    checkArguments,
		"locklab simulate --machine nosuch":               simulate,
		"locklab simulate --machine skylake-24 --nosuch":  simulate,
		"go test -run '^$' -bench Nonsense ./peers":       testsExist,
		"go test -run '^$' -bench 'lock=mcs/' ./spinlock": testsExist,
		"go test -run 'Nonsense|Interop' ./peers":         testsExist,
		"go test -run TestNonsense/mcs ./peers":           testsExist,
		"go test -bench Lock ./peers -pairs.nonsense 3":   testsExist,
		"go test -bench Lock ./nonsense":                  testsExist,
	} {
		if err := check(t.TempDir(), command); err == nil {
			t.Errorf("accepts %q", command)
		}
	}
}

// checkArguments lets a command's locklab print its help, after it has accepted the flags.
func checkArguments(home, command string) error {
	i := strings.Index(command, "locklab ")
	if i < 0 {
		return fmt.Errorf("no locklab in %q", command)
	}
	return shortenCommand(home, "env "+command[i:], "--help")
}

func deployExists(_, command string) error {
	names := regexp.MustCompile(`\bdeploy/[\w./]+`).FindAllString(command, -1)
	if len(names) == 0 {
		return fmt.Errorf("no file in %q", command)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join("..", name)); err != nil {
			return err
		}
	}
	return nil
}
