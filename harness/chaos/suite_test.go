package chaos_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/locktest"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
)

func TestMain(m *testing.M) {
	chaos.Main(append(catalog.All(), specimens...))
	flag.Parse()
	locktest.Parallel(6)
	os.Exit(leaktest.Process{Tests: m, Packages: []string{"locklab/harness/chaos", "locklab/internal/faultproxy"}}.Run())
}

func countExpected(s *chaos.Scenario, lock string) int {
	return slices.IndexFunc(s.Expect, func(e chaos.Expectation) bool {
		return regexp.MustCompile("^(?:" + e.Locks + ")$").MatchString(lock)
	})
}

var scenarioName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func TestSuite(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range chaos.Suite {
		check := func(ok bool, why string) {
			if !ok {
				t.Errorf("scenario %q: %s", s.Name, why)
			}
		}
		pattern := func(p string) {
			_, err := regexp.Compile(p)
			check(p != "" && err == nil, fmt.Sprintf("%q is no regular expression for names", p))
		}
		check(scenarioName.MatchString(s.Name) && !seen[s.Name], "the name is not lower case words joined by '-', or is used twice")
		seen[s.Name] = true
		check(strings.HasSuffix(s.Question, "?"), "the question does not end with a question mark")
		check(s.Fault != "" && !strings.HasSuffix(s.Fault, "."), "the fault is not a line without a full stop")
		check(s.NoFault == strings.HasPrefix(s.Fault, "none: "), "NoFault and the fault disagree")
		check(s.Family != "" && s.Source != "" && s.Tries > 0 && s.Try != nil, "a field is missing")
		check(s.Tries >= result.EnoughTries || len(s.Tests) == 0 || s.Name == "many-waiters", "a lock that passes all its tries gets no tick") // a thousand waiters take long
		check(s.Takes > 0 && time.Duration(s.Takes)*time.Second <= s.Deadline+time.Minute, "the duration of a try is missing or too long")
		pattern(s.Locks)
		for _, g := range s.Tests {
			check(slices.Contains(result.Guarantees, g), fmt.Sprintf("it tests %q, which is no guarantee", g))
		}
		for _, a := range s.Aims {
			pattern(a.Locks)
			check(a.Figure != "" && a.Text != "" && a.Quantile >= 0 && a.Quantile <= 1, fmt.Sprintf("the aim of %q is not complete", a.Locks))
		}
		used := make(map[int]bool)
		for _, v := range catalog.All() {
			if v.Remote != nil && s.Applies(result.Describe(v)) {
				used[countExpected(s, v.Name)] = true
			}
		}
		check(len(used) > 0, "it applies to no lock")
		check(!used[-1], "nothing is expected of one of its locks")
		for i, e := range s.Expect {
			pattern(e.Locks)
			check(used[i], fmt.Sprintf("no lock has the expectation of %q", e.Locks))
			check(e.Why != "" && !strings.HasSuffix(e.Why, "."), fmt.Sprintf("why of %q is not a sentence without a full stop", e.Locks))
			for _, h := range e.Anomalies {
				check(slices.Contains(oracle.Anomalies, h), fmt.Sprintf("%q is no anomaly", h))
			}
		}
	}
}

// oneOfEach returns a lock for each expectation of s, if possible a recommended one. It omits
// Curator's locks in all but one scenario: each of their client processes compiles for seconds.
func oneOfEach(s *chaos.Scenario) (out []*harness.Variant) {
	of := make([]*harness.Variant, len(s.Expect))
	for _, v := range catalog.All() {
		if v.Remote == nil || !s.Applies(result.Describe(v)) || strings.HasPrefix(v.Name, "curator-") && s.Name != "isolated-follower" {
			continue
		}
		if i := countExpected(s, v.Name); of[i] == nil || v.Status == harness.Correct && of[i].Status != harness.Correct {
			of[i] = v
		}
	}
	return slices.DeleteFunc(of, func(v *harness.Variant) bool { return v == nil })
}

// TestScenarios tries each scenario once, on a lock for each expectation. An unexpected anomaly
// fails if one of three more tries repeats it; a stall never fails, since a busy machine
// causes it.
func TestScenarios(t *testing.T) {
	if locktest.RaceDetector {
		t.Skip("the workers are processes of their own: what the race detector sees of this one the tests of chaos show")
	}
	for i, s := range chaos.Suite {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && i%3 != 0 {
				t.Skip("make test-all runs it")
			}
			tried := oneOfEach(s)
			if testing.Short() {
				tried = fewLocks(s, tried)
			}
			again := attemptScenario(t, s, tried, 1, 1)
			for name, why := range again {
				t.Logf("%s: %s; three more tries", name, why)
			}
			locks := slices.DeleteFunc(tried, func(v *harness.Variant) bool { return again[v.Name] == "" })
			if len(locks) == 0 {
				return
			}
			for name, why := range attemptScenario(t, s, locks, 3, 2) {
				t.Errorf("%s: again: %s", name, why)
			}
		})
	}
}

// fewLocks returns the first recommended lock, or else the first, and the locks that s
// certainly harms, which show that the fault is made. make test-all tries all.
func fewLocks(s *chaos.Scenario, locks []*harness.Variant) (out []*harness.Variant) {
	main := max(0, slices.IndexFunc(locks, func(v *harness.Variant) bool { return v.Status == harness.Correct }))
	for i, v := range locks {
		if i == main || slices.Contains(certain, s.Name+": "+v.Name) {
			out = append(out, v)
		}
	}
	return out
}

func attemptScenario(t *testing.T, s *chaos.Scenario, locks []*harness.Variant, tries int, seed uint64) map[string]string {
	wrong := make(map[string]string)
	dir := t.TempDir()
	p := &chaos.Plan{Scenarios: []*chaos.Scenario{s}, Locks: locks, Tries: tries, Seed: seed, Dir: dir}
	for name, r := range sumResults(t, p) {
		if why := judgeResult(t, r, dir); why != "" {
			wrong[name] = why
		}
	}
	return wrong
}

var certain = []string{
	"late-watch: zk-fair-historical",
	"late-list: zk-fair-historical", "late-list: zk-writelock-historical",
	"middle-waiter-killed: zk-persistent", "middle-waiter-killed: zk-fair-historical",
	"waiter-reset: zk-fair-historical",
	"spent-watch: zk-fair-historical",
	"negative-session: zk-fair-historical",
	"kept-error: zk-fair-historical", "kept-error: zk-boolean-mutex-historical",
	"failed-try: zk-boolean-mutex-historical", "failed-try: zk-two-level-historical",
	"late-cancel: curator-semaphore-mutex",
	"lost-release: zk-fair-historical", "lost-release: go-zookeeper-lock",
	"foreign-child: go-zookeeper-lock", "foreign-child: curator-mutex",
	"two-of-a-client: zk-writelock-historical", "two-of-a-client: zk-boolean-mutex-historical",
	"lock-after-expiry: zk-fair-historical",
	"nested-unlock: zk-two-level-historical",
	"readers-together: redis-rw-redisson",
	"redis-wait-cut: redis-poll-5ms",
	"redis-wait-other-replica: redis-wait", "redis-wait-other-replica: redis-poll-5ms",
}

func judgeResult(t *testing.T, r *result.FaultResult, dir string) string {
	row := result.JudgeFault(r)
	t.Logf("%s: %s, seen %v, expected %v", r.Lock.Name, row.Verdict, row.Seen, r.Expected.Anomalies)
	switch {
	case row.Verdict == result.NotTested:
		t.Logf("%s: not tested: %s", r.Lock.Name, row.Skipped)
		if r.Lock.Traits.Needs != "" && backend.Required(r.Lock.Traits.Needs) {
			return "not tested: " + row.Skipped
		}
		return ""
	case slices.Contains(certain, r.Scenario+": "+r.Lock.Name) && len(r.Seen) == 0:
		return "it came through unharmed: the fault is not made, or the anomaly not seen"
	case slices.Equal(row.Unexpected, []oracle.Anomaly{oracle.Stall}):
		t.Logf("%s: slower than expected: %q", r.Lock.Name, r.Notes)
		return ""
	case row.Verdict != result.Unexpected:
		return ""
	}
	for _, name := range r.Histories {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			t.Logf("%s:\n%s", name, text)
		}
	}
	return fmt.Sprintf("%v, which is not expected, since %s: %q", row.Unexpected, r.Expected.Why, r.Notes)
}

var quoted = regexp.MustCompile("`([a-z0-9-]+)`")

func parseCell(cell string) []string {
	return result.Each(quoted.FindAllStringSubmatch(cell, -1), func(m []string) string { return m[1] })
}

// TestTablesOfAnomaly compares docs/failures.md with the expectations of the scenarios.
func TestTablesOfAnomaly(t *testing.T) {
	text, err := os.ReadFile("../../docs/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	columns, hazards, rows := 0, make(map[string]bool), 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " |")
		switch {
		case strings.HasSuffix(strings.TrimSpace(line), "| Scenario | Fails |"):
			columns = len(cells)
			continue
		case !strings.HasPrefix(line, "|"):
			columns = 0
			continue
		case columns == 0 || strings.HasPrefix(line, "|---"):
			continue
		}
		if len(cells) != columns {
			t.Errorf("%d columns, want %d: %s", len(cells), columns, line)
			continue
		}
		rows++
		hazards[strings.TrimSpace(cells[0])] = true
		scenarios := parseCell(cells[columns-2])
		if len(scenarios) == 0 && !strings.Contains(cells[columns-2], "none: ") {
			t.Errorf("no scenario: %s", line)
		}
		failing := parseCell(cells[columns-1])
		for _, name := range failing {
			if !knownName(name) {
				t.Errorf("%q is no lock and no scenario: %s", name, line)
			}
		}
		least := anomaliesOf(t, scenarios, failing)
		for _, name := range failing {
			if len(least[name]) == 0 {
				t.Errorf("%v are not expected to harm %s: %s", scenarios, name, line)
			}
		}
	}
	for i := range 25 {
		if name := fmt.Sprintf("B%d", i+1); !hazards[name] {
			t.Errorf("the table lacks hazard %s", name)
		}
	}
	if rows < 25+14 {
		t.Errorf("%d rows", rows)
	}
}

func knownName(name string) bool {
	return slices.ContainsFunc(chaos.Suite, func(s *chaos.Scenario) bool { return s.Name == name }) ||
		slices.ContainsFunc(catalog.All(), func(v *harness.Variant) bool { return v.Name == name })
}

func anomaliesOf(t *testing.T, scenarios, locks []string) map[string][]oracle.Anomaly {
	out := make(map[string][]oracle.Anomaly)
	for _, name := range scenarios {
		i := slices.IndexFunc(chaos.Suite, func(s *chaos.Scenario) bool { return s.Name == name })
		if i < 0 {
			t.Errorf("there is no scenario %q", name)
			continue
		}
		for _, v := range catalog.All() {
			if slices.Contains(locks, v.Name) && chaos.Suite[i].Applies(result.Describe(v)) {
				out[v.Name] = append(out[v.Name], chaos.Suite[i].Expected(v.Name).Anomalies...)
			}
		}
	}
	return out
}
