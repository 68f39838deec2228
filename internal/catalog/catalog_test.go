package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
)

func TestAllIsValid(t *testing.T) {
	if err := harness.Validate(All()); err != nil {
		t.Error(err)
	}
}

func TestSelect(t *testing.T) {
	local := func(harness.Setup) harness.Local { return nil }
	remote := func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return nil, nil }
	all := []*harness.Variant{
		{Name: "a", Family: harness.Spin, Status: harness.Recommended, Local: local},
		{Name: "b", Family: harness.Spin, Status: harness.Reference, Local: local},
		{Name: "peer-lock", Family: harness.Peer, Status: harness.Control, Local: local},
		{Name: "c", Doc: "pkg.Lock as it is", Family: harness.Redis, Status: harness.Recommended, Remote: remote},
	}
	for _, c := range []struct{ words, want string }{
		{"all", "abpeer-lockc"}, {"a", "a"}, {"c,a", "ac"}, {"a,a", "a"}, {"spin", "ab"}, {"recommended", "ac"},
		{"local", "abpeer-lock"}, {"remote", "c"}, {"all,-b", "apeer-lockc"}, {"spin,-recommended", "b"},
		{"A", "a"}, {"a|c", "ac"}, {"a|nosuch", "error"}, {"[ab]", "ab"}, {"(a|b)", "ab"}, {".*", "abpeer-lockc"}, {"pkg.lock", "c"},
		{"pkg", "error"}, {"pee|a", "apeer-lock"}, {"pe", "error"}, {"peers", "error"}, {"spin|c,-a", "bc"}, {"(", "error"}, {"a|", "error"},
		{"nosuch", "error"}, {"", "error"}, {"a,nosuch", "error"}, {"a,-a", "error"}, {"all,-nosuch", "error"},
	} {
		got, err := Select(all, strings.Split(c.words, ","))
		if err != nil {
			if !errors.Is(err, harness.ErrUsage) || c.want != "error" {
				t.Errorf("%s: %v", c.words, err)
			}
			continue
		}
		var names string
		for _, v := range got {
			names += v.Name
		}
		if names != c.want {
			t.Errorf("%s selects %q, want %q", c.words, names, c.want)
		}
	}
}

// TestEveryFamilyIsThere keeps a family from being forgotten.
func TestEveryFamilyIsThere(t *testing.T) {
	for _, f := range harness.Families {
		if !slices.ContainsFunc(All(), func(v *harness.Variant) bool { return v.Family == f }) {
			t.Errorf("no lock of family %s", f)
		}
	}
}

// TestDefaults: the default choice names locks that exist, and nothing that is
// kept for its faults.
func TestDefaults(t *testing.T) {
	for i, name := range defaults {
		if slices.Contains(defaults[:i], name) {
			t.Errorf("%s is listed twice", name)
		}
		at := slices.IndexFunc(All(), func(v *harness.Variant) bool { return v.Name == name })
		if at < 0 {
			t.Errorf("there is no lock called %s", name)
			continue
		}
		if s := All()[at].Status; s == harness.Broken || s == harness.Historical {
			t.Errorf("%s is %s", name, s)
		}
	}
}
