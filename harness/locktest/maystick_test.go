package locktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

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
			for _, r := range Rules {
				if r.Name != "cancel-many" {
					continue
				}
				err := r.apply(t.Context(), Subject{Variant: v, Patience: time.Second})
				if err == nil {
					t.Fatal("the broken lock keeps the rule")
				}
				if _, rest := r.excuse(v, err); (rest == nil) != want {
					t.Errorf("%v: excused: %t, want %t", err, rest == nil, want)
				}
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
