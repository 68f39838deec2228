package lab

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	spinlab "locklab/spinlock/lab"
)

func own() *harness.Variant {
	return &harness.Variant{Name: "own", Doc: "a lock", Paper: "none", Family: harness.Spin,
		Local: func(harness.Setup) harness.Local { return nil }}
}

func TestProgramValidate(t *testing.T) {
	nameless := own()
	nameless.Name = ""
	for _, c := range []struct {
		p    Program
		want string // "" accepts
	}{
		{Program{}, ""},
		{Program{Locks: []*harness.Variant{own()}}, ""},
		{Program{Locks: []*harness.Variant{own()}, Defaults: []string{"own"}}, ""},
		{Program{Locks: catalog.All(), Defaults: catalog.Defaults}, ""},
		{Program{Locks: []*harness.Variant{own(), own()}}, `"own" is listed twice`},
		{Program{Locks: []*harness.Variant{nameless}}, "has no name"},
		{Program{Locks: []*harness.Variant{own()}, Defaults: []string{"other"}}, `"other", which is none of the locks`},
	} {
		err := c.p.validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("got %v, want no error", err)
		case c.want != "" && (!errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

func TestByDefault(t *testing.T) {
	p := Program{}
	for status, want := range map[harness.Status]bool{
		harness.Correct: true, "recommended": true, harness.Control: false, harness.Historical: false, harness.Broken: false,
	} {
		if got := p.byDefault(&harness.Variant{Name: "own", Status: status}); got != want {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
}

func TestOwnName(t *testing.T) {
	p := &Program{Name: "bench", Locks: []*harness.Variant{own()}}
	names := make(map[string]bool)
	for _, c := range p.command().Commands() {
		names[c.Name()] = true
		for _, foreign := range []string{"locklab", "zk-", "mcs", "redis-"} {
			if strings.Contains(c.Example, foreign) {
				t.Errorf("the examples of %s speak of %s:\n%s", c.Name(), foreign, c.Example)
			}
		}
		if c.Name() == "run" && (!strings.Contains(c.Example, "bench run") || !strings.Contains(c.Example, "--locks local")) {
			t.Errorf("run has lost its examples:\n%s", c.Example)
		}
	}
	for _, want := range []string{"list", "run", "report", "compare", "export", "hardware", "env", "schema"} {
		if !names[want] {
			t.Errorf("there is no command %s", want)
		}
	}
	if names["trace"] {
		t.Error("it has the command trace, without a lock that sends messages")
	}
	if _, err := p.choose([]string{"other"}); err == nil || !strings.Contains(err.Error(), "'bench list'") {
		t.Errorf("got %v, want the advice of bench list", err)
	}
}

func TestSpinLocks(t *testing.T) {
	if got := program().spinLocks(); !slices.Equal(got, spinlab.Suite) {
		t.Errorf("got %d locks, want the %d of spinlock/lab", len(got), len(spinlab.Suite))
	}
}
