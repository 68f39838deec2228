package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	list := flag.Bool("n", false, "only list the mutants")
	flag.Parse()
	pattern, err := regexp.Compile(flag.Arg(0))
	if err == nil {
		c := campaign{root: ".", results: "build/mutants.txt", out: os.Stdout}
		err = c.run(pattern, *list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type campaign struct {
	root    string // of the module
	results string // below root
	out     io.Writer

	done   string          // results of earlier runs
	passes map[string]bool // whether a test passes without a mutant
}

func (c *campaign) run(pattern *regexp.Regexp, list bool) error {
	ms, err := readAll(c.root)
	if err != nil {
		return err
	}
	results := filepath.Join(c.root, c.results)
	if text, err := os.ReadFile(results); err == nil {
		c.done = string(text)
	}
	c.passes = make(map[string]bool)
	var bad []string
	for _, m := range ms {
		switch {
		case !pattern.MatchString(m.String()):
			continue
		case list:
			fmt.Fprintln(c.out, m, "go test", strings.Join(m.test, " "))
			continue
		}
		line, killed, err := c.try(m)
		if err != nil {
			return err
		}
		if line != "" {
			fmt.Fprint(c.out, line)
			if err := appendTo(results, line); err != nil {
				return err
			}
		}
		if !killed {
			bad = append(bad, m.String())
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d not killed: %s", len(bad), strings.Join(bad, " "))
	}
	return nil
}

// try returns the result line for m, "" if killed before, and whether it is killed.
func (c *campaign) try(m mutant) (line string, killed bool, err error) {
	text, err := m.apply(c.root)
	if err != nil {
		return fmt.Sprintf("not applied %v: %v\n", m, err), false, nil
	}
	sum := sha256.Sum256([]byte(strings.Join(m.test, " ") + "\n" + string(text)))
	key := fmt.Sprintf("%v %x ", m, sum[:8])
	if strings.Contains(c.done, "killed "+key) {
		fmt.Fprintf(c.out, "killed before %v\n", m)
		return "", true, nil
	}
	began := time.Now()
	test := m.dir + " " + strings.Join(m.test, " ")
	if _, tried := c.passes[test]; !tried {
		out, failed := goTest(filepath.Join(c.root, m.dir), m.test)
		c.passes[test] = !failed && ran(out)
	}
	result := "survives "
	if !c.passes[test] {
		result = "its test fails without it, or is none: "
	} else {
		overlay, clean, err := c.overlay(m, text)
		if err != nil {
			return "", false, err
		}
		defer clean()
		out, failed := goTest(filepath.Join(c.root, m.dir), append([]string{"-overlay=" + overlay}, m.test...))
		switch {
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			result = "does not build: "
		case failed:
			result, killed = "killed ", true
		}
	}
	return fmt.Sprintf("%s%s%.1f s\n", result, key, time.Since(began).Seconds()), killed, nil
}

// overlay writes text and go test's overlay file, and returns its name and a cleaner.
func (c *campaign) overlay(m mutant, text []byte) (name string, clean func(), err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", nil, err
	}
	clean = func() { os.RemoveAll(dir) }
	original, err := filepath.Abs(filepath.Join(c.root, m.dir, m.file))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mutant"), text, 0o600)
	}
	if err == nil {
		name = filepath.Join(dir, "overlay.json")
		config, _ := json.Marshal(map[string]any{"Replace": map[string]string{original: filepath.Join(dir, "mutant")}})
		err = os.WriteFile(name, config, 0o600)
	}
	if err != nil {
		clean()
	}
	return name, clean, err
}

func goTest(dir string, args []string) (out string, failed bool) {
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=2m"}, args...)...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}

func ran(out string) bool {
	return !strings.Contains(out, "no tests to run") && !strings.Contains(out, "no test files")
}

func appendTo(name, line string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}
