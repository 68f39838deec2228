package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
)

func control() *harness.Variant {
	return &harness.Variant{
		Name: "control", Doc: "correct", Paper: "none",
		Family: harness.Blocking,
		Local:  func(harness.Setup) harness.Local { return harness.Shared(new(sync.Mutex)) },
	}
}

func TestCorrectRemoteIsAccepted(t *testing.T) {
	for name, claims := range map[string]harness.Traits{
		"lock": lock, "semaphore": semaphore, "reentrant": again, "readers": readWrite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemoryServer(none, claims)
			defer close(m.quit)
			if err := Check(t.Context(), Subject{Variant: m.variant(), Stress: DefaultStress / 3}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUnavailableIsNotTouched(t *testing.T) {
	v := control()
	v.Unavailable = "made for another machine"
	v.Local = func(harness.Setup) harness.Local { panic("called") }
	if err := Check(t.Context(), Subject{Variant: v}); !isNotApplicable(err) || err.Error() != v.Unavailable {
		t.Errorf("got %v, want a NotApplicable that says why", err)
	}
	Run(t, []*harness.Variant{v})
}

func TestShapesCoverSetups(t *testing.T) {
	for family, waits := range map[harness.Family]int{harness.Spin: len(harness.WaitPolicies), harness.Blocking: 1} {
		var asked sync.Map
		v := control()
		v.Family = family
		v.Local = func(s harness.Setup) harness.Local {
			asked.Store(s.Wait, true)
			asked.Store(s.Pin, true)
			asked.Store(s.Nodes == nil, true)
			return harness.Shared(new(sync.Mutex))
		}
		if err := Check(t.Context(), Subject{Variant: v, Stress: time.Millisecond}); err != nil {
			t.Error(err)
		}
		n := 0
		for _, wait := range harness.WaitPolicies {
			if _, ok := asked.Load(wait); ok {
				n++
			}
		}
		if n != waits {
			t.Errorf("family %s: %d wait policies tried, want %d", family, n, waits)
		}
		for _, want := range []any{harness.PinNone, harness.PinThread, true, false} { // pins, and without nodes or with
			if _, ok := asked.Load(want); !ok {
				t.Errorf("family %s: %v was not tried", family, want)
			}
		}
	}
}

func TestRulesAreComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rules {
		if r.Name == "" || r.Why == "" || r.Applies == nil || r.check == nil || seen[r.Name] {
			t.Errorf("rule %q lacks a field or is listed twice", r.Name)
		}
		seen[r.Name] = true
	}
}

func TestRunJudgesByStatus(t *testing.T) {
	recommended, historical := control(), control()
	recommended.Name, recommended.Status = "recommended", harness.Correct
	historical.Name, historical.Status = "historical", harness.Historical
	Run(t, []*harness.Variant{recommended, historical})
}

func TestVerdictInverts(t *testing.T) {
	v := control()
	if why, err := verdict(t.Context(), Subject{Variant: v, Stress: time.Millisecond}, 2); why != nil || err == nil {
		t.Error("a correct lock with status broken must fail the suite")
	}
	v.Local = func(harness.Setup) harness.Local { return harness.Shared(noTry{new(sync.Mutex)}) }
	if why, err := verdict(t.Context(), Subject{Variant: v, Stress: time.Millisecond}, 2); why == nil || err != nil {
		t.Errorf("a broken lock with status broken must pass the suite: %v", err)
	}
}

// noTry is broken in a way that needs no chance and no race.
type noTry struct{ *sync.Mutex }

func (noTry) TryLock() bool { return false }

func TestFailureExplains(t *testing.T) {
	v := control()
	v.Local = func(harness.Setup) harness.Local { return harness.Shared(noTry{new(sync.Mutex)}) }
	err := Check(t.Context(), Subject{Variant: v, Stress: time.Millisecond})
	f, ok := errors.AsType[*Failure](err)
	if !ok || f.Rule.Name != "try" {
		t.Fatalf("got %v, want a Failure of rule try", err)
	}
	for _, want := range []string{"control", `"try"`, "TryLock refused a free lock", f.Rule.Why} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %v", want, err)
		}
	}
}

func TestNotApplicableIsNoFailure(t *testing.T) {
	v := control()
	v.Traits = harness.Traits{FIFO: true, MaxWorkers: 1}
	v.Local = func(harness.Setup) harness.Local { return harness.Shared(noop{}) }
	if err := Check(t.Context(), Subject{Variant: v, Stress: time.Millisecond}); err != nil {
		t.Errorf("for one worker a lock may do nothing: %v", err)
	}
}

func TestStressFromEnv(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "30s": 30 * time.Second, "1m": time.Minute} {
		t.Setenv(StressEnv, text)
		if got, err := stressFromEnv(); err != nil || got != want {
			t.Errorf("%s=%q: got %v, %v; want %v", StressEnv, text, got, err, want)
		}
	}
	for _, text := range []string{"30", "-1s", "0", "long"} {
		t.Setenv(StressEnv, text)
		if got, err := stressFromEnv(); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%s=%q: got %v, %v; want an error that wraps ErrUsage", StressEnv, text, got, err)
		}
	}
}

func TestDriveNamesWaitingWorkers(t *testing.T) {
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock() // lets worker 1 finish
	err := recovered(func() {
		drive(t.Context(), 2, limits{uses: 3, patience: 50 * time.Millisecond}, func(_ context.Context, i int) {
			if i == 1 {
				mu.Lock()
				mu.Unlock() //lint:ignore SA2001 only the wait matters
			}
		})
	})
	if stuck, ok := errors.AsType[*stuckError](err); !ok || len(stuck.waiting) != 1 || stuck.waiting[0] != "worker 1 after 0 acquisitions" {
		t.Errorf("got %v, want worker 1 after 0 acquisitions", err)
	}
	boom := errors.New("boom")
	err = recovered(func() {
		drive(t.Context(), 2, limits{patience: time.Minute}, func(ctx context.Context, i int) {
			if i == 1 {
				must(boom)
			}
			<-ctx.Done()
			must(ctx.Err())
		})
	})
	if err != boom {
		t.Errorf("got %v, want the first failure", err)
	}
}

func TestMayStick(t *testing.T) {
	v := newMemoryServer(none, lock).variant()
	v.MayStick = map[string]string{"cancel-many": "its fault"}
	noGrant, other := fmt.Errorf("worker 1: %w within 1s", errNoGrant), errors.New("two are inside")
	for name, test := range map[string]struct {
		rule    string
		err     error
		excused bool
	}{
		"kept":                       {"cancel-many", nil, false},
		"stuck":                      {"cancel-many", fmt.Errorf("afterwards: %w", noGrant), true},
		"stuck with many contenders": {"cancel-many", &stuckError{patience: time.Second}, true},
		"another promise":            {"cancel-many", other, false},
		"stuck and another":          {"cancel-many", errors.Join(noGrant, other), false},
		"another that wraps":         {"cancel-many", fmt.Errorf("%w: %w", noGrant, other), false},
		"stuck under another rule":   {"contenders", noGrant, false},
	} {
		t.Run(name, func(t *testing.T) {
			rule := Rule{Name: test.rule}
			err := test.err
			if err != nil {
				err = &Failure{v.Name, rule, err}
			}
			known, rest := rule.excuse(v, err)
			if got := strings.Contains(known, "its fault"); got != test.excused || (rest == nil) != (test.excused || err == nil) {
				t.Errorf("excused: %q, held against it: %v; want it excused: %t", known, rest, test.excused)
			}
		})
	}
}

// TestMayStickOfBroken: a declared rule excuses a stuck lock, but not one holder too many.
func TestMayStickOfBroken(t *testing.T) {
	for f, want := range map[fault]bool{"leaves-ticket-of-thirty": true, "leaks-of-thirty": true, "one-permit-more": false} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			m := newMemoryServer(f, semaphore)
			defer close(m.quit)
			v := m.variant()
			v.MayStick = map[string]string{"cancel-many": "its fault"}
			r := Rules[slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == "cancel-many" })]
			err := r.apply(t.Context(), Subject{Variant: v, Patience: time.Second})
			if err == nil {
				t.Fatal("the broken lock keeps the rule")
			}
			if _, rest := r.excuse(v, err); (rest == nil) != want {
				t.Errorf("%v: excused: %t, want %t", err, rest == nil, want)
			}
		})
	}
}

func TestValidateMayStick(t *testing.T) {
	remote := newMemoryServer(none, lock).variant()
	for name, want := range map[string]string{"cancel-many": "", "preemption": "no rule for it", "cansel": "no rule for it"} {
		remote.MayStick = map[string]string{name: "its fault"}
		err := validateMayStick([]*harness.Variant{remote})
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("MayStick of %s: %v, want %q", name, err, want)
		}
	}
}

type failures struct {
	testing.TB
	n int
}

func (f *failures) Errorf(string, ...any) { f.n++ }

func TestRequirePanicRejects(t *testing.T) {
	for _, tc := range []struct {
		want     string
		f        func()
		failures int
	}{
		{"", func() {}, 0},
		{"", func() { panic("x") }, 1},
		{"x", func() {}, 1},
		{"x", func() { panic("xy") }, 0},
		{"x", func() { panic("y") }, 1},
	} {
		tb := failures{TB: t}
		if RequirePanic(&tb, "f", tc.want, tc.f); tb.n != tc.failures {
			t.Errorf("wants %q: %d failures, want %d", tc.want, tb.n, tc.failures)
		}
	}
}
