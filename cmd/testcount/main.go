package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"locklab/internal/numfmt"
)

// An event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // s
	Output  string
}

type tally struct {
	module string         // its path is omitted from the names of packages
	final  *regexp.Regexp // matches tests, or their output, whose failures are final

	mu             sync.Mutex // guards the fields below, and keeps the output of an event together
	out            io.Writer
	passed, failed int
	failures       []*failure
	unsteady       []string            // tests that failed, and passed the reruns
	skipped        map[string][]string // reason to tests
}

type reading struct {
	*tally
	args   string
	said   map[string]map[string]string // output of the running tests, by package; "" is of the package
	broken map[string]bool              // packages with a failed test
}

func main() {
	heedSignals()
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount: go list -m:", err)
		os.Exit(1)
	}
	t := &tally{out: os.Stdout, module: strings.TrimSpace(string(module)), skipped: make(map[string][]string)}
	limit := flag.Int("again", 0, "run failing tests twice more at the end, if at most `n` failed; a test that then passes is listed and does not count as failed")
	flag.Func("final", "failures that count at once, as a `pattern` of the test's name or output", func(s string) (err error) {
		t.final, err = regexp.Compile(s)
		return err
	})
	flag.Parse()
	ok := t.stages(flag.Args())
	t.again(*limit)
	t.summary()
	if flag.NArg() == 0 || !ok || t.failed > 0 {
		os.Exit(1)
	}
}

// heedSignals lets signals end tests' programs even under nohup: a child inherits no handler.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

func (t *tally) stages(args []string) bool {
	ok := true
	for _, stage := range split(args, "then") {
		ok = t.runLanes(split(stage, "+")) && ok
	}
	return ok
}

func split(args []string, sep string) [][]string {
	var all [][]string
	for {
		i := slices.Index(args, sep)
		if i < 0 {
			return append(all, args)
		}
		all, args = append(all, args[:i]), args[i+1:]
	}
}

// runLanes runs the lanes at the same time, and reports whether all were run.
func (t *tally) runLanes(lanes [][]string) bool {
	var all errgroup.Group
	for _, lane := range lanes {
		all.Go(func() (err error) {
			for _, args := range lane {
				err = errors.Join(err, t.run(args))
			}
			return err
		})
	}
	return all.Wait() == nil
}

func (t *tally) run(args string) error {
	if strings.HasPrefix(args, "nice ") {
		out, err := exec.Command("sh", "-c", args).CombinedOutput()
		if err != nil {
			t.show(strings.TrimSpace(fmt.Sprintf("%s: %v\n%s", args, err, out)))
		}
		return err
	}
	t.show("go test " + strings.Join(strings.Fields(args), " "))
	cmd := exec.Command("go", goTest(args)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		return err
	}
	failed := t.read(args, out)
	if err := cmd.Wait(); err != nil && !failed {
		return err
	}
	return nil
}

// goTest puts the user's arguments first, since -C must be first.
func goTest(args string) []string {
	return append(append([]string{"test"}, strings.Fields(args)...), "-json")
}

// read follows one run, prints each package and failing tests, and reports any failure.
func (t *tally) read(args string, in io.Reader) (failed bool) {
	r := reading{t, args, make(map[string]map[string]string), make(map[string]bool)}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			r.show(lines.Text()) // not from test2json
			continue
		}
		r.add(e)
		failed = failed || e.Action == "fail"
	}
	return failed
}

func (t *tally) show(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(t.out, line)
}

func (t reading) add(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said[e.Package] == nil {
		t.said[e.Package] = make(map[string]string)
	}
	running := t.said[e.Package]
	switch e.Action {
	case "output":
		running[e.Test] += e.Output
		return
	case "build-output":
		fmt.Fprint(t.out, e.Output)
		return
	case "pass":
		if e.Test != "" {
			t.passed++
		}
	case "fail":
		t.fail(e)
	case "skip":
		if e.Test != "" {
			reason := skipReason(running[e.Test])
			t.skipped[reason] = append(t.skipped[reason], t.short(e)+" "+e.Test)
		}
	default:
		return
	}
	if e.Test == "" && e.Action != "skip" {
		fmt.Fprintf(t.out, "%-5s %7.1f s  %s\n", e.Action, e.Elapsed, e.Package)
	}
	delete(running, e.Test)
}

// fail counts a failure and prints its output. A package fails with its tests. It counts on
// its own only if none of them failed, or if its process ended before they had.
func (t reading) fail(e event) {
	running := t.said[e.Package]
	said := running[e.Test]
	delete(running, e.Test)
	if e.Test != "" || !t.broken[e.Package] || len(running) > 0 {
		t.failed++
		t.fails(e, said)
		fmt.Fprint(t.out, said)
		for _, test := range slices.Sorted(maps.Keys(running)) {
			if e.Test == "" {
				fmt.Fprint(t.out, running[test])
			}
		}
	}
	t.broken[e.Package] = true
}

func (t *tally) short(e event) string { return strings.TrimPrefix(e.Package, t.module+"/") }

func skipReason(said string) string {
	for _, line := range slices.Backward(strings.Split(said, "\n")) {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "=== ") {
			continue
		}
		// file_test.go:12: reason
		if _, reason, ok := strings.Cut(text, ".go:"); ok {
			_, reason, _ = strings.Cut(reason, ": ")
			return reason
		}
		return text
	}
	return "no reason given"
}

func (t *tally) summary() {
	total := 0
	reasons := slices.SortedFunc(maps.Keys(t.skipped), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(t.skipped[b]), len(t.skipped[a])), cmp.Compare(a, b))
	})
	for _, reason := range reasons {
		tests := t.skipped[reason]
		total += len(tests)
		fmt.Fprintf(t.out, "skipped %d: %s (%s)\n", len(tests), reason, numfmt.List(tests, 4))
	}
	for _, test := range t.unsteady {
		fmt.Fprintf(t.out, "unsteady: %s failed, and passed twice when it was run again\n", test)
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, total)
}
