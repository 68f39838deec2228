package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	var out strings.Builder
	c := &tally{out: &out, module: "example.org/m", skipped: make(map[string][]string)}
	c.read(strings.NewReader(`{"Action":"run","Package":"example.org/m/a","Test":"TestOne"}
{"Action":"output","Package":"example.org/m/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"pass","Package":"example.org/m/a","Test":"TestOne"}
{"Action":"output","Package":"example.org/m/a","Test":"TestTwo","Output":"    a_test.go:12: redis: no redis-server on PATH\n"}
{"Action":"output","Package":"example.org/m/a","Test":"TestTwo","Output":"--- SKIP: TestTwo (0.00s)\n"}
{"Action":"skip","Package":"example.org/m/a","Test":"TestTwo"}
{"Action":"output","Package":"example.org/m/a","Test":"TestThree","Output":"    a_test.go:20: broken\n"}
{"Action":"fail","Package":"example.org/m/a","Test":"TestThree"}
{"Action":"fail","Package":"example.org/m/a","Elapsed":1.5}
{"Action":"build-output","ImportPath":"example.org/m/b","Output":"b.go:1: no\n"}
{"Action":"fail","Package":"example.org/m/b"}
not JSON
`))
	c.summary()
	for _, want := range []string{
		"a_test.go:20: broken", "b.go:1: no", "not JSON",
		"skipped 1: redis: no redis-server on PATH (a TestTwo)",
		"\n1 passed, 2 failed, 1 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "TestOne") {
		t.Errorf("a passing test is shown:\n%s", out.String())
	}
}

// TestLongest: the longest tests are named, without their subtests, the longest
// first.
func TestLongest(t *testing.T) {
	var in, out strings.Builder
	for i := range 30 {
		name := fmt.Sprintf("Test%02d", i*7%30)
		fmt.Fprintf(&in, `{"Action":"pass","Package":"example.org/m/a","Test":"%s","Elapsed":%d}`+"\n", name, i*7%30)
		fmt.Fprintf(&in, `{"Action":"pass","Package":"example.org/m/a","Test":"%s/part","Elapsed":100}`+"\n", name)
	}
	c := &tally{out: &out, module: "example.org/m", skipped: make(map[string][]string)}
	c.read(strings.NewReader(in.String()))
	c.summary()
	var want strings.Builder
	for i := 29; i > 19; i-- {
		fmt.Fprintf(&want, "long  %7.1f s  a Test%02d\n", float64(i), i)
	}
	if got := out.String(); !strings.HasPrefix(got, want.String()+"60 passed") {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

// TestOtherModule: a run may be in another directory, which go wants to know first.
func TestOtherModule(t *testing.T) {
	out, err := exec.Command("go", goTest("-C ../.. -run ^TestTally$ ./cmd/testcount")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"Action":"pass"`) {
		t.Errorf("%v\n%s", err, out)
	}
}
