package locktest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
)

// A Rule is one promise of the contract and the check that tries to break it.
type Rule struct {
	Name string // lower case, words joined by '-'
	Why  string // the broken promise, in one sentence

	// Applies reports whether v makes this promise.
	Applies func(v *harness.Variant) bool

	// check ends with a [NotApplicable] or the lock's fault if a step fails: see must.
	check func(ctx context.Context, s Subject)

	// plain reports that the check guards plain memory by the lock, so that the race
	// detector also reports a lock that does not exclude.
	plain bool

	// waits: a stuck lock breaks this very promise, otherwise liveness.
	waits bool

	// once reports that repeating the check finds nothing more.
	once bool
}

// A Subject is a lock under test and the effort of the test.
type Subject struct {
	Variant *harness.Variant
	At      harness.Endpoint // the servers of a remote lock

	// Stress is the total time of a check that depends on chance; 0 is DefaultStress,
	// or twice that for a distributed lock.
	Stress time.Duration

	// Patience is the longest time without a grant while workers wait; 0 is DefaultPatience.
	Patience time.Duration

	check *running // the check under way
}

// running is the state of a check.
type running struct {
	interrupt context.CancelFunc // ends all waits for distributed locks
	fixtures  []*fixture         // to close at the end
}

// Defaults of a Subject.
const (
	// DefaultStress keeps a test run short. It is for each rule that depends on chance. A
	// test-and-set of two steps is the hardest lock to catch. In 200 ms on two processors the
	// exclusion rule caught it 100 of 100 times, but 47 of 100 with six other busy processes;
	// the preemption rule is faster. On a busy machine give both some seconds.
	DefaultStress = 100 * time.Millisecond

	// DefaultPatience is far above any pause of a busy machine.
	DefaultPatience = 20 * time.Second
)

// StressEnv names the environment variable that overrides DefaultStress in
// [Run]: a duration such as 30s.
const StressEnv = "LOCKLAB_STRESS"

func (s Subject) patience() time.Duration { return cmp.Or(s.Patience, DefaultPatience) }

// limits has no limit if uses is 0.
func (s Subject) limits(uses uint64) limits {
	return limits{uses: uses, patience: s.patience(), interrupt: s.check.interrupt}
}

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
	Err     error  // the lock's fault
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s breaks %q: %v\n\tthe promise: %s", f.Variant, f.Rule.Name, f.Err, f.Rule.Why)
}

func (f *Failure) Unwrap() error { return f.Err }

// NotApplicable is the reason why a rule could not be checked. It is not a failure.
type NotApplicable string

func (n NotApplicable) Error() string { return string(n) }

// Check returns one error that joins a [Failure] for each broken promise of s, or nil, or a
// [NotApplicable] if the lock cannot run here: see [harness.Variant.Unavailable].
func Check(ctx context.Context, s Subject) error {
	if why := s.Variant.Unavailable; why != "" {
		return NotApplicable(why)
	}
	return errors.Join(slices.Collect(s.failures(ctx, func(Rule) bool { return false }))...)
}

// failures yields the failure of each rule that applies and is not skipped.
func (s Subject) failures(ctx context.Context, skip func(Rule) bool) iter.Seq[error] {
	return func(yield func(error) bool) {
		for _, r := range Rules {
			if !r.Applies(s.Variant) || skip(r) {
				continue
			}
			if err := r.apply(ctx, s); err != nil && !isNotApplicable(err) && !yield(err) {
				return
			}
		}
	}
}

// Check returns nil, a [NotApplicable], or the lock's fault.
func (r Rule) Check(ctx context.Context, s Subject) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.check = &running{interrupt: cancel}
	errs := []error{labelled(ctx, s.Variant.Name+"/"+r.Name, func() { r.check(ctx, s) })}
	for _, f := range s.check.fixtures {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

func (r Rule) apply(ctx context.Context, s Subject) error {
	err := r.Check(ctx, s)
	if err == nil || isNotApplicable(err) {
		return err
	}
	// A lock can get stuck under any check.
	if _, stuck := errors.AsType[*stuckError](err); stuck && !r.waits {
		r = livenessRule
	}
	return &Failure{s.Variant.Name, r, err}
}

func isNotApplicable(err error) bool {
	return errors.As(err, new(NotApplicable))
}

// abreast is the number of remote variants tested at once, which mostly wait.
const abreast = 4

// Run tests every variant of suite, one subtest per variant and rule. It starts the servers
// that the suite needs. If it cannot, it skips the variants that need them with the reason,
// unless LOCKLAB_REQUIRE names them. It also skips variants that are not available here.
//
// A Broken variant must fail. A Historical one may: its broken rules are logged, until it gets
// stuck for the first time. Its family's own tests must show the published bug. If
// [harness.Variant.MayStick] declares that a lock may get stuck under a rule, that is logged.
func Run(t *testing.T, suite []*harness.Variant) {
	t.Helper()
	if err := errors.Join(harness.Validate(suite), validateMayStick(suite)); err != nil {
		t.Fatal(err)
	}
	stress, err := stressFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	servers := make(map[string]func() (harness.Endpoint, error)) // by kind, started for the first lock
	for _, v := range suite {
		kind := v.Traits.Needs
		servers[kind] = sync.OnceValues(func() (harness.Endpoint, error) { return startServers(t, kind, Servers(suite, kind)) })
	}
	var remote errgroup.Group
	remote.SetLimit(abreast)
	defer remote.Wait()
	for _, v := range suite {
		test := func(t *testing.T) {
			s := Subject{Variant: v, Stress: stress}
			if v.Unavailable != "" {
				t.Skip(v.Unavailable)
			}
			if kind := v.Traits.Needs; kind != "" {
				at, err := servers[kind]()
				RequireServers(t, kind, err)
				s.At = at
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
			return labelled(t.Context(), v.Name, func() { t.Run(v.Name, test) })
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

// races reports whether the race detector would report a broken lock before the rule does.
func (r Rule) races() bool { return r.plain && RaceDetector }

// patienceWithHistorical is short, since no verdict depends on it.
const patienceWithHistorical = time.Second

// record returns the rules that a historical lock breaks, until it gets stuck. Like verdict,
// it omits rules that guard plain memory under the race detector.
func record(ctx context.Context, s Subject) error {
	s.Patience, s.Stress = patienceWithHistorical, cmp.Or(s.Stress, DefaultStress/5)
	var errs []error
	for err := range s.failures(ctx, Rule.races) {
		errs = append(errs, err)
		if errors.As(err, new(*stuckError)) {
			break
		}
	}
	return errors.Join(errs...)
}

// patienceWithBroken is the greatest number of lucky passes of a broken lock.
const patienceWithBroken = 100

// inFull is the first try that gives a rule its full time.
const inFull = 3

// verdict inverts Check for a lock that must fail, and returns its first failure. Under the
// race detector it omits rules that guard plain memory: the detector would report the wanted
// failure. A rule gets little time at first, and at most DefaultStress later: another may
// reject the lock.
func verdict(ctx context.Context, s Subject, tries int) (why, err error) {
	most := min(s.stress(), DefaultStress)
	for try := range tries {
		s.Stress = most >> max(0, inFull-try)
		for why := range s.failures(ctx, func(r Rule) bool { return r.races() || r.once && try != inFull }) {
			return why, nil
		}
	}
	return nil, fmt.Errorf("%s has status %q, but it kept every promise, %d times", s.Variant.Name, s.Variant.Status, tries)
}

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

// Parallel sets the number of concurrent tests, halved under the race detector, unless the
// flag -test.parallel is given. A package whose tests mostly wait for servers calls it in
// TestMain. Parallel parses the flags.
func Parallel(tests int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if RaceDetector {
		tests = (tests + 1) / 2 // each takes several times the processor time
	}
	if !given {
		// Every test binary has the flag, which accepts every number above 0.
		_ = flag.Set("test.parallel", strconv.Itoa(tests))
	}
}
