package main

import (
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	m := tree{path: "locklab", folders: []string{"atomics", "cmd", "docs", "zklock"}}
	for _, c := range []struct {
		mod       bool
		old, want string // "" is no change
	}{
		{false, `import "locklab/zklock"`, `import "x.org/m/zklock"`},
		{false, "import (\n\t. \"locklab/zklock\"\n\tlab \"locklab/zklock/lab\"\n)", "import (\n\t. \"x.org/m/zklock\"\n\tlab \"x.org/m/zklock/lab\"\n)"},
		{false, "see [locklab/atomics.Primitive]", "see [x.org/m/atomics.Primitive]"},
		{false, "`go doc locklab/zklock`, `go doc locklab/atomics`", "`go doc x.org/m/zklock`, `go doc x.org/m/atomics`"},
		{false, "locklab/atomics locklab/atomics\nlocklab/atomics", "x.org/m/atomics x.org/m/atomics\nx.org/m/atomics"},
		{false, "-X locklab/atomics/machine.commit=$(COMMIT) -X=locklab/cmd.x", "-X x.org/m/atomics/machine.commit=$(COMMIT) -X=x.org/m/cmd.x"},
		{false, "require locklab v0.0.0\nreplace locklab => ../locklab", "require x.org/m v0.0.0\nreplace x.org/m => ../locklab"},
		{false, "go mod edit -require=locklab@v0.0.0 -replace=locklab=../locklab", "go mod edit -require=x.org/m@v0.0.0 -replace=x.org/m=../locklab"},
		{false, "go get locklab@v1.2.3", "go get x.org/m@v1.2.3"},
		{false, `"/locklab/zklock"`, ""},                  // the path of a node
		{false, "cmd/locklab/docs_test.go", ""},           // a file
		{false, "~/locklab/zklock ../locklab/zklock", ""}, // directories
		{false, "example.org/locklab/zklock", ""},         // of another module
		{false, "my-locklab/zklock", ""},
		{false, "histogram=locklab/digits=three", ""},
		{false, "locklab/zklocks", ""},
		{false, "locklab run && build/locklab docs", ""},
		{false, "LOCKLAB_REDIS=locklab:6379 locklab:0:key locklab-redis", ""},
		{false, "module locklab, or locklab@localhost", ""}, // prose
		{true, "module locklab\n", "module x.org/m\n"},
		{true, "module locklab/contrib/otel\n\nrequire locklab v0.0.0\n\nreplace locklab => ../..\n", "module x.org/m/contrib/otel\n\nrequire x.org/m v0.0.0\n\nreplace x.org/m => ../..\n"},
		{true, "require example.org/locklab v1.0.0 // ../locklab", ""},
		{true, "require locklabs v1.0.0", ""},
	} {
		want := c.want
		if want == "" {
			want = c.old
		}
		got := m.replace(c.old, "x.org/m", c.mod)
		if got != want {
			t.Errorf("%q: got %q, want %q", c.old, got, want)
		}
		back := tree{path: "x.org/m", folders: m.folders}
		if again := back.replace(got, "locklab", c.mod); again != c.old {
			t.Errorf("%q: %q becomes %q on the way back", c.old, got, again)
		}
	}
}

func TestCheck(t *testing.T) {
	m := tree{path: "locklab", requires: []string{"golang.org/x/sys"}}
	for path, want := range map[string]string{
		"locklab":                    "",
		"locklab/v2":                 "",
		"example.org/you/locklab":    "",
		"GitHub.com/A-b_c/lock.lab~": "",
		"":                           "is wanted",
		" ":                          `the element " "`,
		"example.org/you lab":        "the element",
		"example.org/you'; rm x":     "the element",
		"example.org/$(pwd)":         "the element",
		"example.org/lab\n":          "the element",
		"example.org\\you":           "the element",
		"example.org/löck":           "the element",
		"example.org/../lab":         "the element",
		"./lab":                      "the element",
		"example.org/lab.":           "dot",
		"/lab":                       "empty element",
		"example.org/":               "empty element",
		"example.org//lab":           "empty element",
		"-lab":                       "dash",
		"https://example.org/lab":    "an address",
		"git@example.org:you/lab":    "the element",
		"example.org/you/lab.git":    "an address",
		"example.org/internal/lab":   "nothing outside it",
		"example.org/lab/v1":         "version v1",
		"example.org/lab/v02":        "version v02",
		"v2":                         "version v2",
		"net/lab":                    "something else",
		"std":                        "something else",
		"golang.org/x/sys":           "depends on",
		"example.org/lab@v1.0.0":     "the element",
	} {
		err := m.check(path)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}
