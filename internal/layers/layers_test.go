package layers

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "accept the dependencies as they are")

const (
	root   = "../.."
	golden = "testdata/modules.golden"
)

var listings [][]pkg

func listing(t *testing.T, i int) []pkg {
	t.Helper()
	if listings == nil {
		listings = make([][]pkg, len(builds))
	}
	if listings[i] == nil {
		pkgs, err := list(root, builds[i])
		if err != nil {
			t.Fatal(err)
		}
		listings[i] = pkgs
	}
	return listings[i]
}

func TestRanks(t *testing.T) {
	for i, b := range builds {
		t.Run(fmt.Sprintf("tags=%s,env=%s", b.tags, strings.Join(b.env, "+")), func(t *testing.T) {
			pkgs := listing(t, i)
			// A listing without packages would pass every check.
			if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.rel == "internal/layers" && slices.Contains(p.own, "harness") }) {
				t.Fatalf("the listing misses this package or its imports: %v", pkgs)
			}
			if err := checkRanks(pkgs); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDocs(t *testing.T) {
	pkgs := listing(t, 0)
	if err := checkDocs(pkgs); err != nil {
		t.Error(err)
	}
}

func TestModules(t *testing.T) {
	pkgs := listing(t, 0)
	if *update {
		text := strings.Join(modules(pkgs), "\n") + "\n"
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	accepted, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkModules(pkgs, string(accepted)); err != nil {
		t.Error(err)
	}
}

// The checks must reject violations.

func TestRanksReject(t *testing.T) {
	for _, test := range []struct {
		name string
		pkgs []pkg
		want string // "" accepts
	}{
		{"downward", []pkg{{rel: "spinlock", own: []string{"atomics", "harness"}}}, ""},
		{"upward", []pkg{{rel: "spinlock", own: []string{"harness/measure"}}}, "spinlock (rank 2) imports harness/measure (rank 4)"},
		{"same rank", []pkg{{rel: "spinlock", own: []string{"mutex"}}}, "spinlock (rank 2) imports mutex (rank 2)"},
		{"unranked", []pkg{{rel: "stray"}}, "package stray has no rank"},
		{"foreign module", []pkg{{rel: "harness", foreign: []string{"golang.org/x/sys/unix"}}}, "harness imports golang.org/x/sys/unix"},
		{"foreign module where allowed", []pkg{{rel: "internal/machine", foreign: []string{"golang.org/x/sys/unix"}}}, ""},
		{"report of a lock", []pkg{{rel: "reports/page", own: []string{"zklock"}}}, "reports/page depends on zklock"},
		{"report of a lock by a detour", []pkg{
			{rel: "reports/page", own: []string{"harness/result"}},
			{rel: "harness/result", own: []string{"zklock"}},
		}, "reports/page depends on zklock"},
		{"command line of a lock", []pkg{
			{rel: "lab", imports: []string{"harness/measure"}, own: []string{"harness/measure"}},
			{rel: "harness/measure", imports: []string{"spinlock/lab"}},
		}, "lab depends on spinlock/lab"},
		{"command line whose tests have locks", []pkg{{rel: "lab", imports: []string{"harness/measure"}, own: []string{"harness/measure", "cmd/locklab/catalog"}}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) { wantError(t, checkRanks(test.pkgs), test.want) })
	}
}

func TestListFixture(t *testing.T) {
	const fixture = "testdata/fixture"
	for _, test := range []struct {
		build build
		want  []string
	}{
		{build{}, []string{
			"package stray has no rank",
			"atomics (rank 0) imports spinlock (rank 2)",
			"harness (rank 0) imports spinlock (rank 2)", // from an internal test
		}},
		{build{tags: "purego"}, []string{"mutex (rank 2) imports spinlock (rank 2)"}},
	} {
		pkgs, err := list(fixture, test.build)
		if err != nil {
			t.Fatal(err)
		}
		err = checkRanks(pkgs)
		for _, want := range test.want {
			wantError(t, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "imports harness/measure") {
			t.Errorf("an external test may look upwards: %v", err)
		}
		err = checkDocs(pkgs)
		wantError(t, err, `atomics/doc.go does not contain "Rank 0."`)
		wantError(t, err, "mutex has no doc.go")
		if strings.Contains(err.Error(), "harness/measure") {
			t.Errorf("harness/measure says its rank: %v", err)
		}
		if strings.Contains(err.Error(), "spinlock") {
			t.Errorf("a library need not say its rank: %v", err)
		}
	}
}

func TestModulesReject(t *testing.T) {
	pkgs := []pkg{{rel: "spinlock", modules: []string{"example.com/b", "example.com/a"}}, {rel: "mutex", modules: []string{"example.com/a"}}}
	wantError(t, checkModules(pkgs, "example.com/a\nexample.com/b\n"), "")
	wantError(t, checkModules(pkgs, "example.com/a\n"), "new dependency example.com/b")
	wantError(t, checkModules(pkgs, "example.com/a\nexample.com/b\nexample.com/c\n"), "example.com/c is not used any more")
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want no error", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want an error with %q", err, want)
	}
}
