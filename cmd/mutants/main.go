package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	flag.Parse()
	pattern, err := regexp.Compile(flag.Arg(0))
	if err == nil {
		c := campaign{root: ".", results: "build/mutants.txt", out: os.Stdout}
		err = c.run(pattern)
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

	done   string          // content of the results, also of earlier runs
	passes map[string]bool // whether a test passes without a mutant
}

func (c *campaign) run(pattern *regexp.Regexp) error {
	ms, err := readAll(c.root)
	if err != nil {
		return err
	}
	results := filepath.Join(c.root, c.results)
	text, err := os.ReadFile(results)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(results), 0o777)
	}
	if err != nil {
		return err
	}
	c.done = string(text)
	c.passes = make(map[string]bool)
	var bad []string
	for _, m := range ms {
		if !pattern.MatchString(m.String()) {
			continue
		}
		line, killed, err := c.try(m)
		if err != nil {
			return err
		}
		if line != "" {
			fmt.Fprint(c.out, line)
			c.done += line
			if err := os.WriteFile(results, []byte(c.done), 0o666); err != nil {
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
		c.passes[test] = !failed && !strings.Contains(out, "no tests to run") && !strings.Contains(out, "no test files")
	}
	result := "survives "
	if !c.passes[test] {
		result = "its test fails without it, or is none: "
	} else {
		out, failed, err := c.testOverlaid(m, text)
		switch {
		case err != nil:
			return "", false, err
		case strings.Contains(out, syscall.ENOSPC.Error()):
			return "", false, syscall.ENOSPC
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			result = "does not build: "
		case failed:
			result, killed = "killed ", true
		}
	}
	return fmt.Sprintf("%s%s%.1f s\n", result, key, time.Since(began).Seconds()), killed, nil
}

// testOverlaid runs the test of m with text in place of its file.
func (c *campaign) testOverlaid(m mutant, text []byte) (out string, failed bool, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	mutated, overlay := filepath.Join(dir, "mutant"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(filepath.Join(c.root, m.dir, m.file))
	config, jerr := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	err = errors.Join(err, jerr, os.WriteFile(mutated, text, 0o600), os.WriteFile(overlay, config, 0o600))
	if err != nil {
		return "", false, err
	}
	out, failed = goTest(filepath.Join(c.root, m.dir), append([]string{"-overlay=" + overlay}, m.test...))
	return out, failed, nil
}

func goTest(dir string, args []string) (out string, failed bool) {
	cmd := exec.Command("go", append([]string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=2m"}, args...)...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}
