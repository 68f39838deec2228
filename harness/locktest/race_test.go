//go:build race

package locktest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// raceChild names the variable that makes this binary a child that drives one lock: a race
// would fail the test in its own process.
const raceChild = "LOCKTEST_RACE_CHILD"

// raceExit is the exit status after a report of the race detector (GORACE exitcode).
const raceExit = 66

func TestMain(m *testing.M) {
	if name := os.Getenv(raceChild); name != "" {
		driveForRace(name)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// driveForRace runs the check of a rule that guards plain memory, and ignores its result.
func driveForRace(name string) {
	lock, rule, _ := strings.Cut(name, "/")
	for _, b := range slices.Concat(correct, breakages) {
		for _, r := range Rules {
			if b.name == lock && r.Name == rule {
				v, _ := b.variant()
				_ = r.Check(context.Background(), Subject{Variant: v, Stress: raceStress(lock)})
				return
			}
		}
	}
	panic("no such lock or rule: " + name)
}

func raceStress(lock string) time.Duration {
	if slices.ContainsFunc(correct, func(b breakage) bool { return b.name == lock }) {
		return DefaultStress
	}
	return 100 * DefaultStress
}

type raceTest struct {
	lock  string // and the rule
	races bool
}

// raceTests has every correct lock, and a wrong one of each kind but optimistic readers, whose
// guarded data is atomic.
var raceTests = []raceTest{
	{"mutex/lost-update", false},
	{"no-op/lost-update", true},
	{"load-then-store/lost-update", true},
	{"load-yield-store/lost-update", true},
	{"ticket/fifo", false},
	{"queue/lost-update", false},
	{"early-ticket/lost-update", true},
	{"semaphore/lost-update", false},
	{"excludes-none/lost-update", true},
	{"reentrant/lost-update", false},
	{"all-enter/lost-update", true},
	{"readers/read-snapshot", false},
	{"reader-walks-in/read-snapshot", true},
	{"writer-walks-in/read-snapshot", true},
	{"sequence/read-snapshot", false},
}

func TestRaceDetector(t *testing.T) {
	for _, b := range correct {
		if !slices.ContainsFunc(raceTests, func(r raceTest) bool { return !r.races && strings.HasPrefix(r.lock, b.name+"/") }) {
			t.Errorf("no test says that the detector has nothing against %s", b.name)
		}
	}
	for _, test := range raceTests {
		t.Run(test.lock, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), raceChild+"="+test.lock, "GORACE=halt_on_error=1 atexit_sleep_ms=0") // at the end as make race does
			out, err := cmd.CombinedOutput()
			status := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				status = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			reported := bytes.Contains(out, []byte("WARNING: DATA RACE")) && status == raceExit
			if reported != test.races || !test.races && status != 0 {
				t.Errorf("race reported: %v, want %v; exit status %d, output:\n%s", reported, test.races, status, out)
			}
		})
	}
}
