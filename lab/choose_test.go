package lab

import (
	"context"
	"errors"
	"strings"
	"testing"

	"locklab/harness"
)

func TestChoose(t *testing.T) {
	local := func(harness.Setup) harness.Local { return nil }
	remote := func(context.Context, harness.Endpoint, string) (harness.Remote, error) { return nil, nil }
	all := []*harness.Variant{
		{Name: "a", Family: harness.Spin, Local: local},
		{Name: "b", Family: harness.Spin, Local: local},
		{Name: "peer-lock", Family: harness.Peer, Status: harness.Control, Local: local},
		{Name: "c", Doc: "pkg.Lock as it is", Family: harness.Redis, Remote: remote},
	}
	p := &Program{Name: "own", Locks: all, Defaults: []string{"c", "b"}}
	for _, c := range []struct{ words, want string }{
		{"all", "abpeer-lockc"}, {"default", "bc"}, {"default,-b", "c"}, {"a", "a"}, {"c,a", "ac"}, {"a,a", "a"}, {"spin", "ab"}, {"control", "peer-lock"},
		{"local", "abpeer-lock"}, {"remote", "c"}, {"all,-b", "apeer-lockc"}, {"all,-control", "abc"},
		{"A", "a"}, {"a|c", "ac"}, {"a|nosuch", "error"}, {"[ab]", "ab"}, {"(a|b)", "ab"}, {".*", "abpeer-lockc"}, {"pkg.lock", "c"},
		{"pkg", "error"}, {"pee|a", "apeer-lock"}, {"pe", "error"}, {"peers", "error"}, {"spin|c,-a", "bc"}, {"(", "error"}, {"a|", "error"},
		{"nosuch", "error"}, {"", "error"}, {"a,nosuch", "error"}, {"a,-a", "error"}, {"all,-nosuch", "error"},
	} {
		got, err := p.choose(strings.Split(c.words, ","))
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

// TestNameBeforeFamily: the word mutex names the lock, and blocking its family.
func TestNameBeforeFamily(t *testing.T) {
	one, err := program().choose([]string{"mutex"})
	if err != nil || len(one) != 1 || one[0].Name != "mutex" {
		t.Errorf("mutex: %d locks, %v", len(one), err)
	}
	all, err := program().choose([]string{"blocking", "-mutex"})
	if err != nil || len(all) < 5 {
		t.Errorf("blocking,-mutex: %d locks, %v", len(all), err)
	}
	for _, v := range all {
		if v.Family != harness.Blocking || v.Name == "mutex" {
			t.Errorf("blocking,-mutex: %s", v.Name)
		}
	}
}
