package redislock_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type profile struct {
	all       float64            // instructions per turn
	functions map[string]*figure // by name
}

type figure struct {
	own   float64 // instructions, without those of the functions that it calls
	with  float64 // with them; recursive calls count twice
	calls float64
}

var (
	functionLine = regexp.MustCompile(`^(c?)fn=\((\d+)\)(?: (.*))?$`)
	// Suffixes of recursive calls, parts and clones of a function.
	functionPart = regexp.MustCompile(`'\d+$|\.(lto_priv|constprop|part|isra|cold).*$`)
)

// readProfile reads a callgrind file of that many turns ("Callgrind Format Specification").
func readProfile(path string, turns float64) (profile, error) {
	file, err := os.Open(path)
	if err != nil {
		return profile{}, err
	}
	defer file.Close()
	p := profile{functions: make(map[string]*figure)}
	names := make(map[string]string) // by number: each name is in the file once
	var function, callee *figure
	called := false // the next line has the cost of the calls of callee
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if f := functionLine.FindStringSubmatch(line); f != nil {
			if f[3] != "" {
				names[f[2]] = functionPart.ReplaceAllString(f[3], "")
			}
			if f[1] == "c" {
				callee = p.figure(names[f[2]])
			} else {
				function = p.figure(names[f[2]])
			}
			continue
		}
		if text, ok := strings.CutPrefix(line, "calls="); ok {
			text, _, _ = strings.Cut(text, " ")
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || callee == nil {
				return profile{}, fmt.Errorf("%s: %q", path, line)
			}
			callee.calls += n / turns
			called = true
			continue
		}
		_, text, ok := strings.Cut(line, " ")
		if !ok || !strings.ContainsRune("+-*0123456789", rune(line[0])) || function == nil {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return profile{}, fmt.Errorf("%s: %q", path, line)
		}
		switch {
		case !called:
			p.all += n / turns
			function.own += n / turns
			function.with += n / turns
		case callee != function:
			function.with += n / turns
		}
		called = false
	}
	return p, lines.Err()
}

func (p profile) figure(name string) *figure {
	if p.functions[name] == nil {
		p.functions[name] = new(figure)
	}
	return p.functions[name]
}

func (p profile) table(most int) string {
	names := slices.SortedFunc(maps.Keys(p.functions), func(a, b string) int {
		return int(p.functions[b].with - p.functions[a].with)
	})
	var text strings.Builder
	fmt.Fprintf(&text, "%9s %6s %9s %7s  %s\n", "with", "share", "own", "calls", "function")
	for _, name := range names[:min(most, len(names))] {
		f := p.functions[name]
		if f.with > p.all { // called recursively
			continue
		}
		fmt.Fprintf(&text, "%9.0f %5.1f%% %9.0f %7.2f  %s\n", f.with, 100*f.with/p.all, f.own, f.calls, name)
	}
	return text.String()
}

func TestReadProfile(t *testing.T) {
	const text = `version: 1
events: Ir
fn=(1) main
16 400
cfn=(2) work
calls=2 20
17 600
cfn=(2)
calls=0 20
17 20
+1 10

fn=(2)
20 500
cfn=(3) helper.part.0
calls=1 30
* 60
cfn=(2)
calls=1 20
* 40
fn=(3)
-3 60
`
	path := t.TempDir() + "/callgrind"
	requireNoError(t, os.WriteFile(path, []byte(text), 0o600))
	p, err := readProfile(path, 2)
	requireNoError(t, err)
	if p.all != 485 {
		t.Errorf("%v instructions a turn, want 485", p.all)
	}
	for name, want := range map[string]figure{"main": {205, 515, 0}, "work": {250, 280, 1.5}, "helper": {30, 30, 0.5}} {
		if got := p.figure(name); *got != want {
			t.Errorf("%s: %v, want %v", name, *got, want)
		}
	}
}
