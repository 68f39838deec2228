package chaos_test

import (
	"context"
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/chaos"
)

func TestMain(m *testing.M) {
	chaos.Main(catalog.All())
	flag.Parse()
	os.Exit(m.Run())
}

// TestSuite: the scenarios are complete, each applies to a lock, each expectation is
// that of one, and each lock that one applies to has an expectation.
func TestSuite(t *testing.T) {
	if err := chaos.Validate(chaos.Suite); err != nil {
		t.Error(err)
	}
	for _, s := range chaos.Suite {
		used := make([]bool, len(s.Expect))
		applies := false
		for _, v := range catalog.All() {
			if v.Remote == nil || !s.Applies(v.Describe()) {
				continue
			}
			applies = true
			i := slices.IndexFunc(s.Expect, func(e chaos.Expectation) bool {
				return regexp.MustCompile("^(?:" + e.Locks + ")$").MatchString(v.Name)
			})
			if i < 0 {
				t.Errorf("%s: nothing is expected of %s", s.Name, v.Name)
				continue
			}
			used[i] = true
		}
		if !applies {
			t.Errorf("%s applies to no lock", s.Name)
		}
		for i, ok := range used {
			if !ok {
				t.Errorf("%s: the expectation of %q is that of no lock", s.Name, s.Expect[i].Locks)
			}
		}
	}
}

var (
	scenario = flag.String("scenario", "", "the scenario that TestTry tries")
	locks    = flag.String("locks", ".*", "on these locks")
	tries    = flag.Int("tries", 1, "how often")
)

// TestTry tries one scenario, to see what it does.
func TestTry(t *testing.T) {
	if *scenario == "" {
		t.Skip("no -scenario")
	}
	var chosen []*harness.Variant
	for _, v := range catalog.All() {
		if regexp.MustCompile("^(?:" + *locks + ")$").MatchString(v.Name) {
			chosen = append(chosen, v)
		}
	}
	for _, s := range chaos.Suite {
		if s.Name != *scenario {
			continue
		}
		p := &chaos.Plan{Scenarios: []*chaos.Scenario{s}, Locks: chosen, Tries: *tries, Seed: 1, Dir: t.TempDir()}
		err := p.Run(context.Background(), func(r *harness.FaultResult) error {
			t.Logf("%-28s tries %d failed %d seen %v window %v margin %v overlap %v", r.Lock.Name, r.Tries, r.Failed, r.Seen, r.Window, r.Margin, r.Overlap)
			for _, n := range r.Notes {
				t.Logf("    %s", n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
