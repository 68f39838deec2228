package catalog

import (
	"slices"
	"testing"

	"locklab/harness"
)

func TestEveryFamilyIsThere(t *testing.T) {
	for _, f := range harness.Families {
		if !slices.ContainsFunc(All(), func(v *harness.Variant) bool { return v.Family == f }) {
			t.Errorf("no lock of family %s", f)
		}
	}
}

func TestDefaults(t *testing.T) {
	for i, name := range Defaults {
		if slices.Contains(Defaults[:i], name) {
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

func TestHandlesAreDeclared(t *testing.T) {
	for _, v := range All() {
		if v.Local == nil || v.Unavailable != "" {
			continue
		}
		l := v.Local(harness.Setup{Workers: 2, Nodes: []int{0, 1}})
		if got := l.Worker(0) != l.Worker(1); got != v.Traits.Handles {
			t.Errorf("%s: workers get different lockers: %v, declared: %v", v.Name, got, v.Traits.Handles)
		}
	}
}
