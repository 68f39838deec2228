package lab

import (
	"errors"
	"strings"
	"testing"

	"locklab/harness"
)

func TestChoose(t *testing.T) {
	all := []*harness.Variant{
		{Name: "a", Family: harness.Spin},
		{Name: "b", Family: harness.Spin},
		{Name: "peer-lock", Family: harness.Peer, Status: harness.Control},
		{Name: "c", Doc: "pkg.Lock as it is", Family: harness.Redis, Traits: harness.Traits{Needs: harness.KindRedis}},
		{Name: "mutex", Family: harness.Blocking}, // has the name of its family
		{Name: "m", Family: harness.Blocking},
	}
	p := &Program{Name: "own", Locks: all, Defaults: []string{"c", "b"}}
	for _, c := range []struct{ words, want string }{
		{"all", "abpeer-lockcmutexm"}, {"mutex", "mutex"}, {"blocking", "mutexm"}, {"blocking,-mutex", "m"}, {"default", "bc"}, {"default,-b", "c"}, {"a", "a"}, {"c,a", "ac"}, {"a,a", "a"}, {"spin", "ab"}, {"control", "peer-lock"},
		{"local", "abpeer-lockmutexm"}, {"remote", "c"}, {"all,-b", "apeer-lockcmutexm"}, {"all,-control", "abcmutexm"},
		{"A", "a"}, {"a|c", "ac"}, {"a|nosuch", "error"}, {"[ab]", "ab"}, {"(a|b)", "ab"}, {".*", "abpeer-lockcmutexm"}, {"pkg.lock", "c"},
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
