package layers

import (
	"strings"
	"testing"

	"locklab/harness"
)

func TestSuiteComplete(t *testing.T) {
	tas := &harness.Variant{Name: "tas", Paper: "Anderson 1990"}
	made := &harness.Variant{Name: "made", Paper: "Mellor-Crummey & Scott 1991, algorithm 5"}
	for _, test := range []struct {
		dir   string
		suite []*harness.Variant
		want  []string
	}{
		{"complete", []*harness.Variant{tas, made}, []string{""}},
		{"complete", []*harness.Variant{made}, []string{`tas.go has a variant named "tas" that is not in Suite`}},
		{"forgotten", []*harness.Variant{tas}, []string{
			"forgotten.go declares the variant ttas, but Suite does not list it; add this line to Suite:\n\tttas,",
			"forgotten.go declares the variant made, but Suite does not list it",
			`forgotten.go has a variant named "inline" that is not in Suite`,
		}},
		{"uncited", []*harness.Variant{tas}, []string{`uncited.go does not cite the source of "tas", "Anderson 1990": its comments lack 1990`}},
		{"uncited", []*harness.Variant{tas, {Name: "elsewhere"}}, []string{`no file contains the name "elsewhere"`}},
		{"library/lab", []*harness.Variant{{Name: "good", Paper: "Anderson 1990"}}, []string{
			"for_gotten.go declares the lock Forgotten, but Suite of its lab has no variant of it; add this to Suite in lab/suite.go:",
			`Name: "for-gotten"`,
			"harness.Handles(library.NewForgotten(s.Workers, options(s)))",
		}},
		{"library/lab", []*harness.Variant{{Name: "good", Paper: "Scott 2013"}}, []string{`good.go does not cite the source of "good", "Scott 2013": its comments lack Scott, 2013`}},
		{"library/lab", []*harness.Variant{{Name: "queue", Paper: "Scott 2013"}}, []string{`queue.go does not cite the source of "queue"`}},
		{"library/lab", []*harness.Variant{{Name: "own", Paper: "Craig 1993"}}, []string{`suite.go does not cite the source of "own"`}},
		{"clients/lab", []*harness.Variant{{Name: "redis-mutex", Paper: "Lamport 1974"}}, []string{
			"for_gotten.go declares the lock Forgotten, but Suite of its lab has no variant of it; add this to Suite in lab/suite.go:",
			`Name: "redis-for-gotten"`,
			"Family: harness.Redis, Status: harness.Reference,\n\t\tTraits: harness.Traits{Needs: harness.KindRedis},",
			"Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker { return c.Forgotten(name, o) })",
		}},
		{"clients/lab", []*harness.Variant{{Name: "redis-mutex", Paper: "Scott 2013"}}, []string{`mutex.go does not cite the source of "redis-mutex"`}},
		{"nosuite", nil, []string{"no variable Suite"}},
		{"missing", nil, []string{"no Go files"}},
	} {
		t.Run(test.dir, func(t *testing.T) {
			err := suiteComplete("testdata/suites/"+test.dir, test.suite)
			for _, want := range test.want {
				wantError(t, err, want)
			}
		})
	}
}

// TestOnlyForgottenLocks checks that other exports of a library do not count as locks,
// and that a lock made by a function of the lab does not count as forgotten.
func TestOnlyForgottenLocks(t *testing.T) {
	for dir, suite := range map[string][]*harness.Variant{
		"library": {{Name: "good", Paper: "Anderson 1990"}, {Name: "queue", Paper: "Craig 1993"}, {Name: "own", Paper: "Scott 2013"}},
		"clients": {{Name: "redis-mutex", Paper: "Lamport 1974"}},
	} {
		err := suiteComplete("testdata/suites/"+dir+"/lab", suite)
		if err == nil || strings.Count(err.Error(), "declares the lock") != 1 || strings.Contains(err.Error(), "cite") {
			t.Errorf("%s: got %v, want one forgotten lock and no more", dir, err)
		}
	}
}
