package lab

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/result"
	spinlab "locklab/spinlock/lab"

	"github.com/spf13/cobra"
)

func ownVariant() *harness.Variant {
	return &harness.Variant{Name: "own", Doc: "a lock", Paper: "none", Family: harness.Spin,
		Local: func(harness.Setup) harness.Local { return nil }}
}

func TestProgramValidate(t *testing.T) {
	nameless := ownVariant()
	nameless.Name = ""
	for _, c := range []struct {
		p    Program
		want string // "" accepts
	}{
		{Program{}, ""},
		{Program{Locks: []*harness.Variant{ownVariant()}}, ""},
		{Program{Locks: []*harness.Variant{ownVariant()}, Defaults: []string{"own"}}, ""},
		{Program{Locks: catalog.All(), Defaults: catalog.Defaults}, ""},
		{Program{Locks: []*harness.Variant{ownVariant(), ownVariant()}}, `"own" is listed twice`},
		{Program{Locks: []*harness.Variant{nameless}}, "has no name"},
		{Program{Locks: []*harness.Variant{ownVariant()}, Defaults: []string{"other"}}, `"other", but there is no such lock`},
	} {
		err := c.p.validate()
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want)) {
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
	p := &Program{Name: "bench", Locks: []*harness.Variant{ownVariant()}}
	commands := p.command(io.Discard).Commands()
	for _, c := range commands {
		for _, foreign := range []string{"locklab", "zk-", "mcs", "redis-"} {
			if strings.Contains(c.Example, foreign) {
				t.Errorf("the examples of %s speak of %s:\n%s", c.Name(), foreign, c.Example)
			}
		}
		if c.Name() == "run" && (!strings.Contains(c.Example, "bench run") || !strings.Contains(c.Example, "--locks local")) {
			t.Errorf("run has lost its examples:\n%s", c.Example)
		}
	}
	const want = "agree compare completion env export hardware history list man merge report run schema simulate version"
	if got := strings.Join(result.Each(commands, (*cobra.Command).Name), " "); got != want {
		t.Errorf("commands %s, want %s: none for locks that send messages", got, want)
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
