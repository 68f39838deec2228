package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
)

// A Rule is one promise of the contract and the check that tries to break it.
type Rule struct {
	Name string // lower case, words joined by '-'
	Why  string // which promise a lock that fails has broken, one sentence

	// Applies reports whether v makes this promise.
	Applies func(v *harness.Variant) bool

	// Check returns nil if the lock kept its promise, a [NotApplicable] if it
	// turned out not to make it, and otherwise what it did wrong.
	Check func(ctx context.Context, s Subject) error

	// plain says that the check guards plain memory by the lock, so that the
	// race detector too reports a lock that does not exclude.
	plain bool

	// waits says that a stuck lock breaks this very promise. Under other checks it
	// breaks liveness.
	waits bool

	// once says that what the check has not found at the first try it will not
	// find at another.
	once bool
}

// A Subject is a lock under test and how hard to try.
type Subject struct {
	Variant *harness.Variant
	At      harness.Endpoint // the servers of a remote lock

	// Stress is how long a check that depends on chance tries, in all; 0 is
	// DefaultStress, twice that for a lock kept by servers.
	Stress time.Duration

	// Patience is for how long a lock may go to no worker while some wait,
	// before it counts as stuck; 0 is DefaultPatience.
	Patience time.Duration
}

// Defaults of a Subject.
const (
	// DefaultStress keeps a test run short. It is for each rule that depends on
	// chance. The hardest lock to catch is a test-and-set that loads and stores
	// in two steps: in 200 ms on two processors the exclusion rule caught it 100 of
	// 100 times on an idle machine, but only 47 of 100 beside six busy processes.
	// The preemption rule takes a hundredth of the time on an idle machine; on
	// a busy one give both some seconds.
	DefaultStress = 100 * time.Millisecond

	// DefaultPatience is far above any pause of a busy machine, since a
	// failure here must mean a lock that is stuck.
	DefaultPatience = 20 * time.Second
)

// StressEnv names the environment variable that overrides DefaultStress in
// [Run]: a duration such as 30s.
const StressEnv = "LOCKLAB_STRESS"

func (s Subject) patience() time.Duration { return cmp.Or(s.Patience, DefaultPatience) }

func (s Subject) stress() time.Duration {
	if isRemote(s.Variant) {
		return cmp.Or(s.Stress, 2*DefaultStress) // an acquisition takes milliseconds
	}
	return cmp.Or(s.Stress, DefaultStress)
}

// A Failure is a promise that a lock broke.
type Failure struct {
	Variant string // the lock's name
	Rule    Rule   // the promise
	Err     error  // what the lock did
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s breaks %q: %v\n\tthe promise: %s", f.Variant, f.Rule.Name, f.Err, f.Rule.Why)
}

func (f *Failure) Unwrap() error { return f.Err }

// NotApplicable is why a rule could not be checked. It is not a failure.
type NotApplicable string

func (n NotApplicable) Error() string { return string(n) }

// Check tries every rule that applies to s and returns one error that joins a
// [Failure] for each promise broken, or nil. It returns a [NotApplicable] if the
// lock cannot run here, see [harness.Variant.Unavailable].
func Check(ctx context.Context, s Subject) error {
	if why := s.Variant.Unavailable; why != "" {
		return NotApplicable(why)
	}
	var errs []error
	for _, r := range Rules {
		if !r.Applies(s.Variant) {
			continue
		}
		if err := r.apply(ctx, s); err != nil && !isNotApplicable(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// apply checks one rule; the error is a Failure or NotApplicable.
func (r Rule) apply(ctx context.Context, s Subject) error {
	err := labelled(ctx, s.Variant.Name+"/"+r.Name, func() error { return r.Check(ctx, s) })
	if err == nil || isNotApplicable(err) {
		return err
	}
	// A lock can get stuck under any check.
	var stuck *stuckError
	if errors.As(err, &stuck) && !r.waits {
		r = liveness
	}
	return &Failure{s.Variant.Name, r, err}
}

func isNotApplicable(err error) bool {
	var n NotApplicable
	return errors.As(err, &n)
}

// abreast is how many remote variants are tested beside each other, since they
// wait for their servers most of the time.
const abreast = 4

// Run tests every variant of suite, one subtest per variant and rule. It
// starts the servers that the suite needs; where it cannot, it skips the
// variants that need them and says why, unless LOCKLAB_REQUIRE names them. It
// also skips variants that are not available here.
//
// A Broken variant must fail. A Historical one may: what it breaks is logged, up
// to the first time that it gets stuck, and it is for its family's own tests to
// show the published bug. Of a lock that may get stuck under a rule,
// [harness.Variant.MayStick], that is logged if it does.
func Run(t *testing.T, suite []*harness.Variant) {
	t.Helper()
	if err := errors.Join(harness.Validate(suite), validateMayStick(suite)); err != nil {
		t.Fatal(err)
	}
	stress, err := stressFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	servers := newServers(t)
	var remote errgroup.Group
	remote.SetLimit(abreast)
	defer remote.Wait()
	for _, v := range suite {
		test := func(t *testing.T) {
			s := Subject{Variant: v, Stress: stress}
			if v.Unavailable != "" {
				t.Skip(v.Unavailable)
			}
			if v.Traits.Needs != "" {
				s.At = servers.endpoint(t, v.Traits.Needs, harness.Servers(suite, v.Traits.Needs))
				if lacks := v.Traits.Lacks(s.At); lacks != "" {
					t.Skip(lacks)
				}
			}
			runOne(t, s)
		}
		if v.Traits.Needs == "" {
			t.Run(v.Name, test)
			continue
		}
		remote.Go(func() error {
			return labelled(t.Context(), v.Name, func() error {
				t.Run(v.Name, test)
				return nil
			})
		})
	}
}

func runOne(t *testing.T, s Subject) {
	switch s.Variant.Status {
	case harness.Broken:
		why, err := verdict(t.Context(), s, patienceWithBroken)
		if err != nil {
			t.Error(err)
		}
		t.Log(why)
	case harness.Historical:
		t.Logf("historical lock, for the record: %v", record(t.Context(), s))
	default:
		for _, r := range Rules {
			if !r.Applies(s.Variant) {
				continue
			}
			var err error
			t.Run(r.Name, func(t *testing.T) {
				if err = r.apply(t.Context(), s); isNotApplicable(err) {
					t.Skip(err)
				}
				var known string
				if known, err = r.excuse(s.Variant, err); known != "" {
					t.Log(known)
				}
				if err != nil {
					t.Error(err)
				}
			})
			if errors.As(err, new(*stuckError)) {
				t.Fatal("the rules after this one are left out: workers that are stuck may use up the processors")
			}
		}
	}
}

// patienceWithHistorical is short, since nothing is judged by it.
const patienceWithHistorical = time.Second

// record returns what a historical lock breaks, up to the first rule under which
// it gets stuck, as such locks do. Where the race detector watches, rules that
// guard plain memory are left out as in verdict.
func record(ctx context.Context, s Subject) error {
	s.Patience, s.Stress = patienceWithHistorical, cmp.Or(s.Stress, DefaultStress/5)
	var errs []error
	for _, r := range Rules {
		if !r.Applies(s.Variant) || r.plain && raceDetector {
			continue
		}
		err := r.apply(ctx, s)
		if err != nil && !isNotApplicable(err) {
			errs = append(errs, err)
		}
		if errors.As(err, new(*stuckError)) {
			break
		}
	}
	return errors.Join(errs...)
}

// patienceWithBroken is how often, at most, a broken lock may pass by luck
// before it counts as correct: chance needs more time on a busy machine.
const patienceWithBroken = 100

// inFull is the first try in which a rule has all its time.
const inFull = 3

// verdict inverts Check for a lock that must fail, and returns why it did. The
// first failure is enough. Where the race detector watches, rules that guard
// plain memory are left out: it would report the very failure that is wanted,
// and fail the test. A rule gets little time at first, and no more than DefaultStress
// later: a lock that it does not reject has others to fail, and other tries.
func verdict(ctx context.Context, s Subject, tries int) (why, err error) {
	most := min(s.stress(), DefaultStress)
	for try := range tries {
		s.Stress = most >> max(0, inFull-try)
		for _, r := range Rules {
			if !r.Applies(s.Variant) || r.plain && raceDetector || r.once && try != inFull {
				continue
			}
			if why := r.apply(ctx, s); why != nil && !isNotApplicable(why) {
				return why, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has status %q, but it kept every promise, %d times", s.Variant.Name, s.Variant.Status, tries)
}

// stressFromEnv returns 0 if the environment says nothing.
func stressFromEnv() (time.Duration, error) {
	text := os.Getenv(StressEnv)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%w: %s=%q: want a duration above 0, such as 30s", harness.ErrUsage, StressEnv, text)
	}
	return d, nil
}
