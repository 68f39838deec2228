package locktest

import (
	"context"
	"errors"
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
		for _, pin := range []harness.Pin{harness.PinNone, harness.PinThread} {
			if _, ok := asked.Load(pin); !ok {
				t.Errorf("family %s: pin=%s was not tried", family, pin)
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
	var f *Failure
	if !errors.As(err, &f) || f.Rule.Name != "try" {
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
	var stuck *stuckError
	if !errors.As(err, &stuck) || len(stuck.waiting) != 1 || stuck.waiting[0] != "worker 1 after 0 acquisitions" {
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
