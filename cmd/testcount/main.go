package main

import (
	"bufio"
	"cmp"
	"encoding/json"
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
	"sync/atomic"
	"syscall"
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
	dear           []event             // the longest tests
}

type reading struct {
	*tally
	args string
	said map[string][]string // output of the running tests
}

func main() {
	heedSignals()
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount: go list -m:", err)
		os.Exit(1)
	}
	t := &tally{out: os.Stdout, module: strings.TrimSpace(string(module)), skipped: make(map[string][]string)}
	limit := flag.Int("again", 0, "run failing tests twice more when all has ended, if they are `n` at most; what passes does not count as failed and is named")
	flag.Func("final", "failures that count at once, as a `pattern` of the name of the test or of what it said", func(s string) (err error) {
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
		ok = t.beside(split(stage, "+")) && ok
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

// beside runs the lanes at the same time, and reports whether all were run.
func (t *tally) beside(lanes [][]string) bool {
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, lane := range lanes {
		wg.Go(func() {
			for _, args := range lane {
				if err := t.run(args); err != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return !failed.Load()
}

func (t *tally) run(args string) error {
	if aside(args) {
		return t.aside(args)
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

// goTest returns go's arguments for one run. The user's come first, since -C must be first.
func goTest(args string) []string {
	return append(append([]string{"test"}, strings.Fields(args)...), "-json")
}

// read follows one run, prints each package and failing tests, and reports any failure.
func (t *tally) read(args string, in io.Reader) (failed bool) {
	r := reading{t, args, make(map[string][]string)}
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
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.said[key] = append(t.said[key], e.Output)
		return
	case "build-output":
		fmt.Fprint(t.out, e.Output)
		return
	case "pass":
		if e.Test != "" {
			t.passed++
		}
	case "fail":
		// A package fails with its tests. It counts on its own only if none of them
		// failed, or if its process ended before they had.
		if e.Test != "" || !t.failedIn(e.Package) || t.underWay(e.Package) {
			t.failed++
			said := strings.Join(t.said[key], "")
			t.fails(e, said)
			fmt.Fprint(t.out, said)
			t.cutShort(e)
		}
		t.said[e.Package+" failed"] = nil
	case "skip":
		if e.Test != "" {
			reason := skipReason(t.said[key])
			t.skipped[reason] = append(t.skipped[reason], t.short(e)+" "+e.Test)
		}
	default:
		return
	}
	if e.Test == "" && e.Action != "skip" {
		fmt.Fprintf(t.out, "%-5s %7.1f s  %s\n", e.Action, e.Elapsed, e.Package)
	}
	if e.Test != "" && e.Elapsed >= 1 && !strings.Contains(e.Test, "/") {
		t.remember(e)
	}
	delete(t.said, key)
}

// cutShort prints the output of the tests whose process ended, with the reason.
func (t reading) cutShort(e event) {
	if e.Test != "" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(t.said)) {
		if name, ok := strings.CutPrefix(key, e.Package+" "); ok && name != "" && name != "failed" {
			fmt.Fprint(t.out, strings.Join(t.said[key], ""))
		}
	}
}

func (t reading) underWay(pkg string) bool {
	for key := range t.said {
		if name, ok := strings.CutPrefix(key, pkg+" "); ok && name != "" && name != "failed" {
			return true
		}
	}
	return false
}

func (t *tally) remember(e event) {
	const few = 10
	t.dear = append(t.dear, e)
	slices.SortStableFunc(t.dear, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	t.dear = t.dear[:min(few, len(t.dear))]
}

func (t reading) failedIn(pkg string) bool { _, ok := t.said[pkg+" failed"]; return ok }

func (t *tally) short(e event) string { return strings.TrimPrefix(e.Package, t.module+"/") }

func skipReason(said []string) string {
	for _, line := range slices.Backward(said) {
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
	for _, e := range t.dear {
		fmt.Fprintf(t.out, "long  %7.1f s  %s %s\n", e.Elapsed, t.short(e), e.Test)
	}
	total := 0
	reasons := slices.SortedFunc(maps.Keys(t.skipped), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(t.skipped[b]), len(t.skipped[a])), cmp.Compare(a, b))
	})
	for _, reason := range reasons {
		tests := t.skipped[reason]
		total += len(tests)
		fmt.Fprintf(t.out, "skipped %d: %s (%s)\n", len(tests), reason, first(tests))
	}
	for _, test := range t.unsteady {
		fmt.Fprintf(t.out, "unsteady: %s failed, and passed twice when it was run again\n", test)
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, total)
}

func first(tests []string) string {
	const few = 3
	if len(tests) <= few {
		return strings.Join(tests, ", ")
	}
	return strings.Join(tests[:few], ", ") + ", …"
}
